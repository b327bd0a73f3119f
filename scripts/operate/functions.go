package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"golang.org/x/sync/errgroup"
)

// parallelChecks is how many function versions are looked for at a time; AWS allows 100 such requests a second.
const parallelChecks = 8

// functions tells which function versions exist.
type functions struct{ client *lambda.Client }

// MissingFunctions returns those of the qualified ARNs that Lambda does not have, and those that the operator may not
// ask about, as of another account's functions; both sorted.
func (t *Target) MissingFunctions(ctx context.Context, arns []string) (missing, unknown []string, err error) {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelChecks)
	for _, arn := range slices.Compact(slices.Sorted(slices.Values(arns))) {
		group.Go(func() error {
			exists, err := t.functions.exists(ctx, arn)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case denied(err):
				unknown = append(unknown, arn)
				return nil
			case err == nil && !exists:
				missing = append(missing, arn)
			}
			return err
		})
	}
	err = group.Wait()
	slices.Sort(missing)
	slices.Sort(unknown)
	return missing, unknown, err
}

// denied reports whether AWS refuses what an operator asks for.
func denied(err error) bool {
	var coded interface{ ErrorCode() string }
	return errors.As(err, &coded) && coded.ErrorCode() == "AccessDeniedException"
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
