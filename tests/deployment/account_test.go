package deployment

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"patchbay/infra/cdk/iamsim"
)

// existingFunction makes a function that belongs to no stack of ours, with its alias, and returns the alias's ARN.
func (w *world) existingFunction(t *testing.T, name, alias string) string {
	t.Helper()
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	if _, err := archive.Create("index.mjs"); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	api := lambda.NewFromConfig(w.config)
	_, err := api.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Runtime: types.RuntimeNodejs22x, Handler: aws.String("index.handler"), Publish: true,
		Role: w.foreignRole(t), Code: &types.FunctionCode{ZipFile: code.Bytes()}, Timeout: aws.Int32(3),
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := api.CreateAlias(t.Context(), &lambda.CreateAliasInput{
		FunctionName: &name, Name: &alias, FunctionVersion: aws.String("1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *made.AliasArn
}

// foreignRole is a role of somebody else's.
func (w *world) foreignRole(t *testing.T) *string {
	t.Helper()
	api := iam.NewFromConfig(w.config)
	name := aws.String("somebody-elses")
	if found, err := api.GetRole(t.Context(), &iam.GetRoleInput{RoleName: name}); err == nil {
		return found.Role.Arn
	}
	made, err := api.CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: name, AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow",
			"Action":"sts:AssumeRole","Principal":{"Service":"lambda.amazonaws.com"}}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Role.Arn
}

// roles reads back the roles of a deployment, each with all of its policies as the account has them.
func (w *world) roles(t *testing.T, prefix string) map[string]*iamsim.Role {
	t.Helper()
	api := iam.NewFromConfig(w.config)
	paginator := iam.NewListRolesPaginator(api, &iam.ListRolesInput{})
	all := map[string]*iamsim.Role{}
	for paginator.HasMorePages() {
		page, err := paginator.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range page.Roles {
			if !strings.HasPrefix(*role.RoleName, prefix+"-") {
				continue
			}
			read, err := readRole(t.Context(), api, *role.RoleName)
			if err != nil {
				t.Fatal(err)
			}
			all[read.ARN] = read
		}
	}
	return all
}

func readRole(ctx context.Context, api *iam.Client, name string) (*iamsim.Role, error) {
	found, err := api.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	if err != nil {
		return nil, err
	}
	trust, err := unescape(found.Role.AssumeRolePolicyDocument)
	if err != nil {
		return nil, err
	}
	policies := map[string][]byte{}
	inline, err := api.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: &name})
	if err != nil {
		return nil, err
	}
	for _, policy := range inline.PolicyNames {
		got, err := api.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &name, PolicyName: &policy})
		if err != nil {
			return nil, err
		}
		if policies[policy], err = unescape(got.PolicyDocument); err != nil {
			return nil, err
		}
	}
	attached, err := api.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: &name})
	if err != nil {
		return nil, err
	}
	if attached.IsTruncated || inline.IsTruncated {
		return nil, fmt.Errorf("the role %s has more policies than this test reads", name)
	}
	for _, policy := range attached.AttachedPolicies {
		if policies[*policy.PolicyArn], err = readManaged(ctx, api, *policy.PolicyArn); err != nil {
			return nil, err
		}
	}
	return iamsim.NewRole(*found.Role.Arn, trust, policies)
}

func readManaged(ctx context.Context, api *iam.Client, arn string) ([]byte, error) {
	policy, err := api.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: &arn})
	if err != nil {
		return nil, err
	}
	version, err := api.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{
		PolicyArn: &arn, VersionId: policy.Policy.DefaultVersionId,
	})
	if err != nil {
		return nil, err
	}
	return unescape(version.PolicyVersion.Document)
}

// unescape decodes a document, which IAM gives in the form of a part of a URL. Moto gives a policy that a template
// writes into a role as Python writes an object.
func unescape(document *string) ([]byte, error) {
	text, err := url.PathUnescape(aws.ToString(document))
	if strings.HasPrefix(text, "{'") {
		text = strings.ReplaceAll(text, "'", `"`)
	}
	return []byte(text), err
}

// roleOf reads back which roles functions have.
func (w *world) roleOf(t *testing.T) map[string]string {
	t.Helper()
	roles := map[string]string{}
	paginator := lambda.NewListFunctionsPaginator(lambda.NewFromConfig(w.config), &lambda.ListFunctionsInput{})
	for paginator.HasMorePages() {
		page, err := paginator.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, function := range page.Functions {
			roles[*function.FunctionName] = *function.Role
		}
	}
	return roles
}
