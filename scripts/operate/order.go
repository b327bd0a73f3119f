package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"patchbay/dispatcher/registrar/order"
	"patchbay/dispatcher/registrar/resource"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/localstack"
)

// registrar takes orders to publish, encoded, and answers in the same way.
type registrar interface {
	take(ctx context.Context, ordered []byte) (answer []byte, err error)
}

// Order has the registrar do what is ordered, and says what came of it. What the registrar refuses is in the answer; an
// error is that it could not be asked.
func (t *Target) Order(ctx context.Context, ordered order.Order) (order.Answer, error) {
	ordered.Version, ordered.Operator = order.Version, t.Operator()
	payload, err := json.Marshal(ordered)
	if err != nil {
		return order.Answer{}, fmt.Errorf("encoding the order: %w", err)
	}
	if len(payload) > order.MaxBytes {
		return order.Answer{}, fmt.Errorf("the order has %d bytes; allowed: %d: give fewer tools at a time", len(payload),
			order.MaxBytes)
	}
	sent, err := t.registrar.take(ctx, payload)
	if err != nil {
		return order.Answer{}, err
	}
	var answer order.Answer
	if err := json.Unmarshal(sent, &answer); err != nil {
		return order.Answer{}, fmt.Errorf("decoding the registrar's answer: %w", err)
	}
	if answer.Version != order.Version {
		return order.Answer{}, fmt.Errorf("the registrar answers in version %d, and this program reads version %d: use the "+
			"program of the server's own release (%s)", answer.Version, order.Version, answer.Refused)
	}
	return answer, nil
}

// deployedRegistrar is a deployment's, which is invoked by the alias for people.
type deployedRegistrar struct {
	client *lambda.Client
	place  place
}

func (r deployedRegistrar) take(ctx context.Context, ordered []byte) ([]byte, error) {
	name := r.place.deployment + "-registrar"
	out, err := r.client.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: aws.String(name), Qualifier: aws.String(order.Alias), Payload: ordered,
	})
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return nil, r.place.missing("the function "+name+" with the alias "+order.Alias+", which earlier releases "+
			"do not have", err)
	}
	if denied(err) {
		return nil, fmt.Errorf("you may not give orders to the registrar: the policy %s-tool-publish allows it (%w)",
			r.place.deployment, err)
	}
	if err != nil {
		return nil, fmt.Errorf("invoking the registrar %s: %w", name, err)
	}
	if out.FunctionError != nil {
		return nil, fmt.Errorf("the registrar failed, and its log /aws/lambda/%s says why; whether the tools are published, "+
			"the same command tells: %s", name, out.Payload)
	}
	return out.Payload, nil
}

// localRegistrar does itself what the registrar does, on a local stack, which has none.
type localRegistrar struct{ handler *resource.Handler }

func newLocalRegistrar(t *Target) localRegistrar {
	return localRegistrar{resource.New(resource.Options{
		DynamoDB: t.DB, Lambda: t.functions.client, Table: t.Tables.Registry, Deployment: localName,
		Region: locallambda.Region, CallsAll: true, StandIn: localstack.LocalFunction,
		Log: slog.New(slog.DiscardHandler), // which the answer tells in full
	})}
}

func (r localRegistrar) take(ctx context.Context, ordered []byte) ([]byte, error) {
	return r.handler.Invoke(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		InvokedFunctionArn: fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s-registrar:%s", locallambda.Region,
			locallambda.Account, localName, order.Alias),
	}), ordered)
}
