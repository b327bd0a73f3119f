package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"patchbay/shared/seal"
)

// signInWait bounds the search for credentials: where there are none, the SDK asks a metadata service that no laptop
// has.
const signInWait = 15 * time.Second

func openAWS(ctx context.Context, options Options) (*Target, error) {
	cfg, err := loadConfig(ctx, options)
	if err != nil {
		return nil, err
	}
	identity, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, fmt.Errorf("asking AWS who you are: %w", err)
	}
	place := place{
		deployment: options.Deployment, region: cfg.Region, account: aws.ToString(identity.Account),
		tables: Tables{
			Registry: options.Deployment + "-registry", Ledger: options.Deployment + "-ledger",
			State: options.Deployment + "-state",
		},
		audit: "/patchbay/" + options.Deployment + "/operators",
	}
	logs, functions := cloudwatchlogs.NewFromConfig(cfg), functions{lambda.NewFromConfig(cfg)}
	return &Target{
		Name:          options.Deployment,
		DB:            dynamodb.NewFromConfig(cfg),
		Tables:        place.tables,
		Keys:          &seal.Stored{Client: secretsmanager.NewFromConfig(cfg), ID: options.Deployment + "/seal-keys"},
		logs:          &cloudWatch{logs},
		functions:     functions,
		registrar:     deployedRegistrar{client: functions.client, place: place},
		auditor:       &cloudWatchAuditor{client: logs, group: place.audit, who: aws.ToString(identity.Arn)},
		gatewayLog:    "/aws/apigateway/" + options.Deployment,
		authorizerLog: functionLog(options.Deployment + "-authorizer"),
		dispatcherLog: functionLog(options.Deployment + "-dispatcher"),
		explain:       place.explain,
		now:           time.Now,
	}, nil
}

// functionLog is the log group of a function.
func functionLog(name string) string { return "/aws/lambda/" + name }

func loadConfig(ctx context.Context, options Options) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(options.Region),
		config.WithSharedConfigProfile(options.Profile), config.WithLogger(logging.Nop{}))
	if err != nil {
		return aws.Config{}, fmt.Errorf("reading AWS's configuration: %w", err)
	}
	if cfg.Region == "" {
		return aws.Config{}, errors.New("no AWS region: name one with --region, in AWS_REGION, or in the profile")
	}
	ctx, cancel := context.WithTimeout(ctx, signInWait)
	defer cancel()
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return aws.Config{}, fmt.Errorf("no AWS credentials: sign in, or name a profile with --profile or AWS_PROFILE (%w)",
			err)
	}
	return cfg, nil
}

// place is where a deployment was looked for.
type place struct {
	deployment, region, account string
	tables                      Tables
	audit                       string
}

// explain says of an error that means that something does not exist what that is and where it was looked for.
func (p place) explain(err error) error {
	var table *dbtypes.ResourceNotFoundException
	if errors.As(err, &table) {
		return p.missing("the tables "+p.tables.Registry+" and "+p.tables.Ledger, err)
	}
	var refused *auditError
	var group *logstypes.ResourceNotFoundException
	if errors.As(err, &refused) && errors.As(err, &group) {
		return p.missing("the log group "+p.audit, err)
	}
	return err
}

func (p place) missing(what string, err error) error {
	return fmt.Errorf("%w: %s; looked for %s in account %s, region %s: is the name right, and --region and --profile? "+
		"(%w)", ErrNoDeployment, p.deployment, what, p.account, p.region, err)
}
