package cloudformation

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"patchbay/infra/cdk/assembly"
)

// publishVersions publishes the versions of functions that the old stack does not have, and tells the fresh one which
// numbers Lambda has given them. A version is the function as it is now: one of an older release, deployed once more,
// gets a higher number.
func (e *Engine) publishVersions(ctx context.Context, old, fresh *assembly.Stack) error {
	for _, r := range fresh.Resources(versionType) {
		if number := old.Version(r); number != "" {
			fresh.SetVersion(r, number)
			continue
		}
		function, err := r.Text("FunctionName")
		if err != nil {
			return err
		}
		made, err := e.lambda.PublishVersion(ctx, &lambda.PublishVersionInput{FunctionName: &function})
		if err != nil {
			return fmt.Errorf("publishing the version %s: %w", r.ID, err)
		}
		fresh.SetVersion(r, *made.Version)
	}
	return nil
}

// dropVersions deletes the versions that only a failed deployment made, as their deletion policy RetainExceptOnCreate
// asks for.
func (e *Engine) dropVersions(ctx context.Context, old *assembly.Stack, failed *deployed) error {
	for _, r := range failed.stack.Resources(versionType) {
		number := failed.stack.Version(r)
		if number == "" || old.Version(r) != "" || r.DeletionPolicy != "RetainExceptOnCreate" {
			continue
		}
		function, err := r.Text("FunctionName")
		if err != nil {
			return err
		}
		_, err = e.lambda.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: &function, Qualifier: &number})
		if err != nil {
			return fmt.Errorf("deleting version %s of %s: %w", number, function, err)
		}
	}
	return nil
}

// makeWithheld makes what moto does not make from a template and other resources need.
func (e *Engine) makeWithheld(ctx context.Context, stack *assembly.Stack) error {
	for _, r := range stack.Resources("AWS::SecretsManager::Secret") {
		name, err := r.Text("Name")
		if err != nil {
			return err
		}
		if _, err := e.secrets.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &name}); err == nil {
			continue
		}
		value, err := generated(r)
		if err != nil {
			return fmt.Errorf("making the value of the secret %s: %w", name, err)
		}
		_, err = e.secrets.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &name, SecretString: &value})
		if err != nil {
			return fmt.Errorf("making the secret %s: %w", name, err)
		}
	}
	return nil
}
