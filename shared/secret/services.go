package secret

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	secretstypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"patchbay/shared/outage"
)

const (
	// attemptTime bounds one attempt of a request, so that one that is never answered, as on a connection which died
	// while Lambda had frozen the process, leaves time for the next.
	attemptTime = 3 * time.Second
	// requestTime bounds all attempts together: a person or a model waits for the tool.
	requestTime = 8 * time.Second
)

// services is a Source on Secrets Manager and Parameter Store.
type services struct {
	references map[string]reference
	// The clients are by region, since a secret may be kept in another one than the function's.
	secrets    map[string]*secretsmanager.Client
	parameters map[string]*ssm.Client
}

// newServices makes the clients that the references need. An empty URL is the service's own.
func newServices(references map[string]reference, keys aws.CredentialsProvider, secretsURL, ssmURL string) *services {
	s := &services{
		references: references, secrets: map[string]*secretsmanager.Client{}, parameters: map[string]*ssm.Client{},
	}
	// One HTTP client, whose connections are kept by host.
	client := awshttp.NewBuildableClient().WithTimeout(attemptTime)
	for _, to := range references {
		switch {
		case to.parameter && s.parameters[to.region] == nil:
			s.parameters[to.region] = ssm.New(ssm.Options{
				Region: to.region, Credentials: keys, HTTPClient: client, BaseEndpoint: optional(ssmURL),
			})
		case !to.parameter && s.secrets[to.region] == nil:
			s.secrets[to.region] = secretsmanager.New(secretsmanager.Options{
				Region: to.region, Credentials: keys, HTTPClient: client, BaseEndpoint: optional(secretsURL),
			})
		}
	}
	return s
}

func optional(url string) *string {
	if url == "" {
		return nil
	}
	return &url
}

// Get reads the current version of a secret.
func (s *services) Get(ctx context.Context, name string) (Value, error) {
	to, ok := s.references[name]
	if !ok {
		return Value{}, fmt.Errorf("%w: %q is not in %s, which has %s", ErrNotFound, name, ReferencesVariable,
			names(s.references))
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	read := s.readSecret
	if to.parameter {
		read = s.readParameter
	}
	value, err := read(ctx, to)
	if err != nil {
		return Value{}, fmt.Errorf("reading the secret %q, %s: %w", name, to.arn, classify(err))
	}
	return value, nil
}

func (s *services) readSecret(ctx context.Context, to reference) (Value, error) {
	output, err := s.secrets[to.region].GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &to.arn})
	if err != nil {
		return Value{}, err
	}
	if output.SecretString == nil {
		return Value{}, errBinary
	}
	return NewValue(*output.SecretString), nil
}

// readParameter takes a SecureString alone: any other parameter is shown to whoever may list parameters.
func (s *services) readParameter(ctx context.Context, to reference) (Value, error) {
	output, err := s.parameters[to.region].GetParameter(ctx, &ssm.GetParameterInput{
		Name: &to.arn, WithDecryption: aws.Bool(true),
	})
	if err != nil {
		return Value{}, err
	}
	if output.Parameter == nil || output.Parameter.Value == nil {
		return Value{}, errors.New("the answer has no value")
	}
	if kind := output.Parameter.Type; kind != ssmtypes.ParameterTypeSecureString {
		return Value{}, fmt.Errorf("the parameter is a %s; a secret must be a %s", kind, ssmtypes.ParameterTypeSecureString)
	}
	return NewValue(*output.Parameter.Value), nil
}

var errBinary = errors.New("it is binary; a secret must be text")

// classify says which of the package's errors one of the services means, if any.
func classify(err error) error {
	var (
		noSecret    *secretstypes.ResourceNotFoundException
		noParameter *ssmtypes.ParameterNotFound
	)
	switch {
	case errors.As(err, &noSecret), errors.As(err, &noParameter):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case outage.Is(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
