package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"golang.org/x/sync/errgroup"
)

// parallelChecks is how many function versions are looked for at a time; AWS allows 100 such requests a second.
const parallelChecks = 8

// functions tells which function versions exist.
type functions struct{ client *lambda.Client }

// MissingFunctions returns those of the qualified ARNs that Lambda does not have, sorted. The error is of one that
// Lambda could not be asked about.
func (t *Target) MissingFunctions(ctx context.Context, arns []string) ([]string, error) {
	gone := make([]bool, len(arns))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelChecks)
	for i, arn := range arns {
		group.Go(func() error {
			exists, err := t.functions.exists(ctx, arn)
			gone[i] = err == nil && !exists
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var missing []string
	for i, arn := range arns {
		if gone[i] && !slices.Contains(missing, arn) {
			missing = append(missing, arn)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

func (f functions) exists(ctx context.Context, arn string) (bool, error) {
	_, err := f.client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &arn})
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking Lambda about %s: %w", arn, err)
	}
	return true, nil
}

// functionName is the name in a function's ARN; empty when it is none.
func functionName(arn string) string {
	parts := strings.Split(arn, ":")
	if len(parts) < 7 || parts[2] != "lambda" || parts[5] != "function" {
		return ""
	}
	return parts[6]
}
