package operate

import (
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"patchbay/scripts/localdb"
	"patchbay/scripts/localstack"
)

// localName is the name of the local stack.
const localName = "local"

// AuditFile is the operators' audit log of a local stack, in its data folder: one record a line. It is only ever
// appended to; an operator acts rarely enough for it to stay small.
const AuditFile = "operators.jsonl"

func openLocal(options Options) (*Target, error) {
	data := options.Data
	if data == "" {
		data = ".patchbay"
	}
	running, err := localstack.ReadRunning(data)
	if errors.Is(err, localstack.ErrNotRunning) {
		return nil, fmt.Errorf("%w; start it with ./scripts/local, name its data folder with --data, or a deployment on AWS "+
			"with --deployment", err)
	}
	if err != nil {
		return nil, err
	}
	who, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("asking who you are: %w", err)
	}
	target := &Target{
		Name:          localName,
		DB:            localdb.Client(running.DatabaseURL),
		Tables:        Tables{Registry: running.Table, Ledger: localstack.LedgerTable, State: localstack.StateTable},
		logs:          localLogs{localstack.LogDir(data)},
		functions:     functions{localLambda(running.LambdaURL)},
		auditor:       &fileAuditor{file: filepath.Join(data, AuditFile), who: who.Username},
		gatewayLog:    localstack.AccessLogGroup,
		authorizerLog: localstack.LogGroup("authorizer"),
		dispatcherLog: localstack.LogGroup("dispatcher"),
		explain:       func(err error) error { return err },
		now:           time.Now,
	}
	target.registrar = newLocalRegistrar(target)
	return target, nil
}

// localLambda is a client of the local Lambda service, which checks no credentials.
func localLambda(url string) *lambda.Client {
	return lambda.New(lambda.Options{
		BaseEndpoint: aws.String(url),
		Region:       localdb.Region,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}
