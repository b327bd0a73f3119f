package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// The environment variables that say where a function's secrets are. A deployment sets one of them where the contract
// names secrets under function.secrets.
const (
	// ReferencesVariable is a JSON object with the ARN of each secret by its name: never a secret itself.
	ReferencesVariable = "PATCHBAY_SECRETS"
	// FileVariable is the path of a File, for one machine.
	FileVariable = "PATCHBAY_SECRETS_FILE"
)

// Open returns the secrets that a function's environment names, behind a Cache, for its main:
//
//	secrets, err := secret.Open(os.Getenv)
//
// Region, credentials and endpoints are read from the variables that Lambda sets and the SDK knows, AWS_REGION,
// AWS_ENDPOINT_URL_SECRETS_MANAGER and AWS_ENDPOINT_URL_SSM among them. No request is made.
func Open(getenv func(string) string) (*Cache, error) {
	references, file := getenv(ReferencesVariable), getenv(FileVariable)
	switch {
	case references != "" && file != "":
		return nil, fmt.Errorf("environment variables %s and %s are both set; a function has its secrets from one of them",
			ReferencesVariable, FileVariable)
	case file != "":
		return NewCache(File(file), CacheOptions{}), nil
	case references == "":
		return nil, fmt.Errorf("environment variable %s is not set; it must be a JSON object with the ARN of each secret "+
			"by its name, or else %s the path of a file with secrets", ReferencesVariable, FileVariable)
	}
	source, err := openServices(references, getenv)
	if err != nil {
		return nil, err
	}
	return NewCache(source, CacheOptions{}), nil
}

func openServices(references string, getenv func(string) string) (*services, error) {
	where, err := parseReferences(references)
	if err != nil {
		return nil, err
	}
	if getenv("AWS_REGION") == "" {
		return nil, errors.New("environment variable AWS_REGION is not set")
	}
	keys := aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(
		getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN")))
	return newServices(where, keys, getenv("AWS_ENDPOINT_URL_SECRETS_MANAGER"), getenv("AWS_ENDPOINT_URL_SSM")), nil
}

// parseReferences reads the value of ReferencesVariable. No error repeats a value of it: whoever writes a secret there
// by mistake must not find it in a log as well.
func parseReferences(text string) (map[string]reference, error) {
	var values map[string]string
	if json.Unmarshal([]byte(text), &values) != nil || values == nil {
		return nil, fmt.Errorf("environment variable %s is not a JSON object whose values are strings; it must name the "+
			`ARN of each secret: {"tracker-token": "arn:aws:secretsmanager:…"}`, ReferencesVariable)
	}
	references := make(map[string]reference, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		to, ok := parseReference(values[name])
		if !ok {
			return nil, fmt.Errorf("environment variable %s: the value of %q is not the ARN of a secret "+
				"(arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME) or of a parameter "+
				"(arn:aws:ssm:REGION:ACCOUNT:parameter/NAME)", ReferencesVariable, name)
		}
		references[name] = to
	}
	return references, nil
}

// reference is where a secret is kept.
type reference struct {
	arn, region string
	// parameter says that it is in Parameter Store.
	parameter bool
}

func parseReference(text string) (reference, bool) {
	parsed, err := arn.Parse(text)
	if err != nil || parsed.Region == "" || parsed.AccountID == "" {
		return reference{}, false
	}
	to := reference{arn: text, region: parsed.Region, parameter: parsed.Service == "ssm"}
	if to.parameter {
		return to, len(parsed.Resource) > len("parameter/") && strings.HasPrefix(parsed.Resource, "parameter/")
	}
	return to, parsed.Service == "secretsmanager" && len(parsed.Resource) > len("secret:") &&
		strings.HasPrefix(parsed.Resource, "secret:")
}
