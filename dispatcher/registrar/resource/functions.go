package resource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"patchbay/shared/consent"
	"patchbay/shared/registry"
)

// Lambda is what the registrar uses of *lambda.Client. Its retries must outlast being throttled: Lambda takes 15 such
// requests a second of a whole account.
type Lambda interface {
	GetFunctionConfiguration(
		context.Context, *lambda.GetFunctionConfigurationInput, ...func(*lambda.Options),
	) (*lambda.GetFunctionConfigurationOutput, error)
	DeleteFunction(
		context.Context, *lambda.DeleteFunctionInput, ...func(*lambda.Options),
	) (*lambda.DeleteFunctionOutput, error)
}

const (
	// parallelRequests is how many requests to Lambda are under way at a time.
	parallelRequests = 6
	// pendingWait is between two looks at a function that is not ready yet.
	pendingWait = time.Second
)

// functionARN is the qualified ARN of a function:
// arn:<partition>:lambda:<region>:<account>:function:<name>:<version or alias>.
type functionARN struct{ partition, region, account, name, qualifier string }

func parseARN(arn string) (functionARN, bool) {
	p := strings.Split(arn, ":")
	if len(p) != 8 || p[0] != "arn" || p[2] != "lambda" || p[5] != "function" || slices.Contains(p, "") {
		return functionARN{}, false
	}
	return functionARN{partition: p[1], region: p[3], account: p[4], name: p[6], qualifier: p[7]}, true
}

// unqualified is the ARN without version or alias.
func (a functionARN) unqualified() string {
	return strings.Join([]string{"arn", a.partition, "lambda", a.region, a.account, "function", a.name}, ":")
}

// checkFunctions refuses tools whose functions cannot serve them: the error lists all of them. What could not be
// checked is a warning.
func (h *Handler) checkFunctions(ctx context.Context, tools []registry.Publication) (warnings []string, err error) {
	faults, told := make([]error, len(tools)), make([]string, len(tools))
	var group errgroup.Group
	group.SetLimit(parallelRequests)
	for i, tool := range tools {
		group.Go(func() error {
			warning, err := h.checkFunction(ctx, tool)
			if err != nil {
				faults[i] = fmt.Errorf("tool %s (%s): %w", tool.Tool.Name, tool.Tool.File, err)
			}
			if warning != "" {
				told[i] = fmt.Sprintf("tool %s (%s): %s", tool.Tool.Name, tool.Tool.File, warning)
			}
			return nil
		})
	}
	_ = group.Wait() // Each has left its error in its own place.
	if ctx.Err() != nil {
		return nil, fmt.Errorf("looking at the functions of %d tools: %w", len(tools), ctx.Err())
	}
	return slices.DeleteFunc(told, func(warning string) bool { return warning == "" }), errors.Join(faults...)
}

func (h *Handler) checkFunction(ctx context.Context, tool registry.Publication) (warning string, err error) {
	arn, ok := parseARN(tool.Function)
	if !ok || arn.qualifier == "$LATEST" {
		return "", fmt.Errorf("function %q; allowed: a Lambda function's ARN with a version or an alias", tool.Function)
	}
	own := ownPlace(ctx)
	if err := h.checkPlace(own, tool.Function, arn); err != nil {
		return "", err
	}
	if err := h.checkCallable(own, tool.Function, arn); err != nil {
		return "", err
	}
	if arn.account != own.account {
		warning = h.askForConsent(own, tool.Function, arn)
	}
	found, err := h.configuration(ctx, arn)
	if isCode(err, "AccessDeniedException") && arn.account != own.account {
		return warning + "; it may not be read from here either, so whether it exists, and for how long it may run, was " +
			"not checked", nil
	}
	if isCode(err, "AccessDeniedException") {
		return "", fmt.Errorf("the registrar may not read function %s, though the server's settings allow it: deploy the "+
			"server again (%w)", tool.Function, err)
	}
	if notFound(err) {
		return "", fmt.Errorf("function version %s does not exist", tool.Function)
	}
	if err != nil {
		return "", fmt.Errorf("looking at function %s: %w", tool.Function, err)
	}
	return warning, suits(tool, found)
}

// checkPlace refuses a function that is too far away.
func (h *Handler) checkPlace(own place, function string, arn functionARN) error {
	if arn.region != h.Region {
		return fmt.Errorf("function %s is in %s; the server is in %s and calls no other region", function, arn.region,
			h.Region)
	}
	if own.partition != "" && arn.partition != own.partition {
		return fmt.Errorf("function %s is in partition %s; the server is in %s and calls no other", function, arn.partition,
			own.partition)
	}
	return nil
}

// checkCallable refuses a function that the dispatcher's role does not let it call: versions of the deployment's own,
// and to the letter those that the settings name.
func (h *Handler) checkCallable(own place, function string, arn functionARN) error {
	named := strings.HasPrefix(arn.name, h.Deployment+"-tool-") && (own.account == "" || arn.account == own.account)
	if h.CallsAll || named || slices.Contains(h.Existing, function) {
		return nil
	}
	also := ""
	for _, existing := range h.Existing {
		if strings.HasPrefix(existing, arn.unqualified()+":") {
			also = "; of this function they name " + existing
		}
	}
	return fmt.Errorf("the dispatcher may not call function %s%s. Its role %s-dispatcher-%s allows functions named "+
		"%s-tool-…, in every version, and those that the server's settings name: put %q: %q under \"functions\" of the "+
		"stage in patchbay.json and deploy the server, which gives the role lambda:InvokeFunction on it", function, also,
		h.Deployment, h.Region, h.Deployment, strings.ReplaceAll(arn.name, "-", "_"), function)
}

// askForConsent says what the owner of a function in another account does, which is not to be seen from here.
func (h *Handler) askForConsent(own place, function string, arn functionARN) string {
	server := consent.Server{Deployment: h.Deployment, Account: own.account, Region: h.Region}
	return fmt.Sprintf("function %s is of account %s, which must let the dispatcher in, for this version or alias; where "+
		"it has not yet, calls fail until its owner runs: %s", function, arn.account, server.Command(function))
}

// configuration reads a function's configuration, waiting while Lambda is still making it.
func (h *Handler) configuration(
	ctx context.Context, arn functionARN,
) (*lambda.GetFunctionConfigurationOutput, error) {
	for {
		found, err := h.Lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{
			FunctionName: aws.String(arn.unqualified()), Qualifier: aws.String(arn.qualifier),
		})
		if err != nil || found.State != types.StatePending {
			return found, err
		}
		select {
		case <-time.After(pendingWait):
		case <-ctx.Done():
			return nil, fmt.Errorf("it is still pending: %w", ctx.Err())
		}
	}
}

// suits refuses a function that cannot run or that may run for longer than its contract says: what is recorded of a
// call goes by the contract, and a function that is still running would be believed to have ended. One that is inactive
// for want of calls becomes active with the next.
func suits(tool registry.Publication, found *lambda.GetFunctionConfigurationOutput) error {
	if found.State == types.StateFailed {
		return fmt.Errorf("function version %s has failed: %s", tool.Function, aws.ToString(found.StateReason))
	}
	most, timeout := tool.Tool.Contract.Execution.TimeoutSeconds, int(aws.ToInt32(found.Timeout))
	if timeout > most {
		return fmt.Errorf("function %s may run for %d seconds, and the contract's execution.timeoutSeconds is %d; allowed: "+
			"a timeout of the function of at most that", tool.Function, timeout, most)
	}
	return nil
}

// place is a partition of AWS and an account in it.
type place struct{ partition, account string }

// ownPlace is where the registrar runs; empty where Lambda does not say.
func ownPlace(ctx context.Context) place {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return place{}
	}
	parts := strings.Split(lc.InvokedFunctionArn, ":")
	if len(parts) < 5 {
		return place{}
	}
	return place{partition: parts[1], account: parts[4]}
}

// owns reports whether a function is one of this deployment's tools, whose versions are the registrar's to delete. One
// of another account may be called the same.
func (h *Handler) owns(ctx context.Context, arn string) bool {
	parsed, ok := parseARN(arn)
	if !ok || parsed.region != h.Region || !strings.HasPrefix(parsed.name, h.Deployment+"-tool-") {
		return false
	}
	if (place{parsed.partition, parsed.account}) != ownPlace(ctx) {
		return false
	}
	// An alias is not a version, and to delete one would not delete the version behind it.
	return strings.Trim(parsed.qualifier, "0123456789") == ""
}

// prune deletes what nobody uses any more: snapshots, and the versions that only they named. What fails is logged and
// left for the next time; no deploy fails of it.
func (h *Handler) prune(ctx context.Context, log *slog.Logger) {
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	pruned, err := h.publisher.Prune(ctx)
	if err != nil {
		log.Warn("pruning the catalogue", "error", err)
	}
	deleted := h.deleteVersions(ctx, log, pruned.Functions)
	if len(pruned.Snapshots) > 0 || len(pruned.Functions) > 0 {
		log.Info("pruned", "snapshots", len(pruned.Snapshots), "versions", len(deleted))
	}
	if err := h.publisher.Deleted(ctx, deleted); err != nil {
		log.Warn("recording which versions were deleted", "error", err)
	}
}

// deleteVersions deletes function versions and returns those that are gone.
func (h *Handler) deleteVersions(ctx context.Context, log *slog.Logger, arns []string) []string {
	var mu sync.Mutex
	var deleted []string
	var group errgroup.Group
	group.SetLimit(parallelRequests)
	for _, arn := range arns {
		group.Go(func() error {
			if err := h.deleteVersion(ctx, arn); err != nil {
				log.Warn("deleting a function version", "function", arn, "error", err)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			deleted = append(deleted, arn)
			return nil
		})
	}
	_ = group.Wait() // Failures were logged.
	return deleted
}

// deleteVersion deletes one version. It never deletes a whole function: the request always has a qualifier.
func (h *Handler) deleteVersion(ctx context.Context, arn string) error {
	parsed, ok := parseARN(arn)
	if !ok || !h.owns(ctx, arn) {
		return fmt.Errorf("%s is not a version of this deployment's", arn)
	}
	_, err := h.Lambda.DeleteFunction(ctx, &lambda.DeleteFunctionInput{
		FunctionName: aws.String(parsed.unqualified()), Qualifier: aws.String(parsed.qualifier),
	})
	if notFound(err) {
		return nil
	}
	return err
}

func notFound(err error) bool {
	var missing *types.ResourceNotFoundException
	return errors.As(err, &missing)
}

// isCode reports whether AWS refused a request with an error code.
func isCode(err error, code string) bool {
	var refused smithy.APIError
	return errors.As(err, &refused) && refused.ErrorCode() == code
}
