// Package resource is the custom resource Custom::PatchbayTools: it publishes the tools of a CloudFormation stack into
// the catalogue. docs/registrar.md is its reference for whoever writes templates. Beside that it takes orders of
// people, for functions that exist already: see package order. Both go through the same checks.
//
// CloudFormation sends an event for every change of the resource and waits for an answer at a pre-signed URL, so every
// event is answered, whatever happens. It orders a rollback as an update with the old properties, and it may deliver an
// event twice. A catalogue changes with one conditional write, so an event either takes effect as a whole or leaves the
// catalogue as it was.
package resource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/cfn"

	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

const (
	// answerTime is what is kept of the function's time to send the answer.
	answerTime = 10 * time.Second
	// workTime bounds the work where nothing says how long the function may run.
	workTime = 90 * time.Second
)

// Options are what a Handler works with. All but Transport and Now are required.
type Options struct {
	DynamoDB registry.DB
	S3       S3
	Lambda   Lambda
	Log      *slog.Logger
	// Table is the registry's.
	Table string
	// MaxCallSeconds is the longest that a call of the server may take, which every publish writes into the catalogue. It
	// is the server's and not a stack's to say.
	MaxCallSeconds int
	// Deployment is the server's name and stage. Only versions of functions named after it are ever deleted.
	Deployment string
	// Region is the one that the server is in: it can call no function of another.
	Region string
	// Existing are the functions, by their ARNs with version or alias, that the dispatcher may call beside those that are
	// named after the deployment. CallsAll means that it may call every function, as on a local stack, where nobody asks.
	Existing []string
	CallsAll bool
	// StandIn gives the function that stands for the one that a contract names, on a local stack; nil where functions are
	// those that are named.
	StandIn func(contract.Function) string
	// Transport is what answers are sent by; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Handler handles the events of custom resources. It is safe for concurrent use.
type Handler struct {
	Options
	publisher *registry.Publisher
	answers   answers
}

// New returns a handler.
func New(options Options) *Handler {
	h := &Handler{Options: options, answers: newAnswers(options.Transport)}
	h.publisher = registry.NewPublisher(options.DynamoDB, options.Table, registry.PublisherOptions{
		Now: options.Now, Retires: h.owns,
	})
	return h
}

// Handle does what an event orders and answers it. The error is only that the answer could not be delivered: what went
// wrong with the order itself is in the answer.
//
// What is superseded is pruned behind the answer, since no deploy should wait for it or fail of it.
func (h *Handler) Handle(ctx context.Context, event cfn.Event) error {
	log := h.Log.With("requestType", event.RequestType, "stack", event.StackID, "resource", event.LogicalResourceID,
		"request", event.RequestID)
	response := h.respond(ctx, log, event)
	if err := h.answers.send(ctx, event.ResponseURL, response); err != nil {
		log.Error("answering CloudFormation", "error", err)
		return err
	}
	log.Info("answered", "status", response.Status, "data", response.Data)
	if response.Status == cfn.StatusSuccess {
		h.prune(ctx, log)
	}
	return nil
}

// respond makes the answer to an event. A panic fails the order: without an answer, CloudFormation would wait for its
// time-out.
func (h *Handler) respond(ctx context.Context, log *slog.Logger, event cfn.Event) (response *cfn.Response) {
	response = cfn.NewResponse(&event)
	response.PhysicalResourceID = physicalID(event)
	defer func() {
		if found := recover(); found != nil {
			log.Error("the registrar panicked", "panic", fmt.Sprint(found), "stack", string(debug.Stack()))
			response.Status, response.Reason = cfn.StatusFailed, "The registrar failed; its log says why."
		}
	}()
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	data, err := h.obey(ctx, log, event)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the registrar ran out of time: %w", err)
		}
		log.Error("refused", "error", err)
		response.Status, response.Reason = cfn.StatusFailed, err.Error()
		return response
	}
	response.Status, response.Data = cfn.StatusSuccess, data
	return response
}

// bounded leaves time to answer before Lambda ends the function.
func (h *Handler) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithTimeout(ctx, workTime)
	}
	return context.WithDeadline(ctx, deadline.Add(-answerTime))
}

// physicalID is the same for every event of a resource: another one would make CloudFormation delete what it believes
// to be the old resource.
func physicalID(event cfn.Event) string {
	if event.PhysicalResourceID != "" {
		return event.PhysicalResourceID
	}
	return "patchbay-tools-" + event.LogicalResourceID
}

// obey does what an event orders and returns the resource's attributes.
func (h *Handler) obey(ctx context.Context, log *slog.Logger, event cfn.Event) (map[string]any, error) {
	if event.StackID == "" || event.LogicalResourceID == "" || event.RequestID == "" {
		return nil, errors.New("the event names no stack, resource or request; it must come from CloudFormation")
	}
	switch event.RequestType {
	case cfn.RequestCreate, cfn.RequestUpdate:
		return h.publish(ctx, log, event)
	case cfn.RequestDelete:
		return nil, h.withdraw(ctx, log, event)
	}
	return nil, fmt.Errorf("request type %q; allowed: Create, Update and Delete", event.RequestType)
}

// withdraw withdraws what this resource has published, if it has. A stack of which nothing was ever published, as one
// whose creation failed, is no error.
func (h *Handler) withdraw(ctx context.Context, log *slog.Logger, event cfn.Event) error {
	withdrawn, err := h.publisher.WithdrawAs(ctx, event.StackID, registry.Order{
		By: publisherName(event.LogicalResourceID), Request: event.RequestID,
	})
	if err == nil && !withdrawn {
		log.Info("nothing to withdraw: the resource has published nothing, or the order came twice")
	}
	return err
}

// publish makes the tools of the event's properties those of its stack.
func (h *Handler) publish(ctx context.Context, log *slog.Logger, event cfn.Event) (map[string]any, error) {
	properties, err := parseProperties(event.ResourceProperties)
	if err != nil {
		return nil, err
	}
	tools, err := h.read(ctx, log, properties)
	if err != nil {
		return nil, err
	}
	live, err := h.liveAs(ctx, event.StackID, tools)
	if err != nil {
		return nil, err
	}
	// A rollback of an update that was refused orders what is live. Whatever has changed around that, as a function of
	// somebody else that has become slower, or the server's longest call, must not keep the stack from coming back to
	// where it was.
	if live == "" {
		warnings, err := h.checkFunctions(ctx, tools)
		for _, warning := range warnings {
			log.Warn("function", "problem", warning)
		}
		if err != nil {
			return nil, err
		}
	}
	receipt, err := h.publisher.PublishAs(ctx, event.StackID, registry.Order{
		By: publisherName(event.LogicalResourceID), Request: event.RequestID, Again: live,
		Settings: &registry.Settings{MaxCallSeconds: h.MaxCallSeconds},
	}, tools)
	if errors.Is(err, registry.ErrOtherPublisher) {
		return nil, fmt.Errorf("%w; a stack has one resource of type Custom::PatchbayTools, since it names all of the "+
			"stack's tools; to rename the resource, deploy once without it", err)
	}
	if err != nil {
		return nil, err
	}
	log.Info("published", "snapshot", receipt.Snapshot, "tools", receipt.Tools, "revision", receipt.Revision)
	return map[string]any{"Tools": strconv.Itoa(receipt.Tools), "Snapshot": receipt.Snapshot}, nil
}
