package resource

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"patchbay/dispatcher/registrar/order"
	"patchbay/shared/registry"
)

// Invoke takes whatever the function is invoked with: an order by the alias for people, an event of CloudFormation by
// any other way.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if qualifier(ctx) == order.Alias {
		return h.takeOrder(ctx, payload)
	}
	var event cfn.Event
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("decoding the event: %w", err)
	}
	if err := h.Handle(ctx, event); err != nil {
		return nil, err
	}
	return []byte("null"), nil
}

// qualifier is the version or alias by which the registrar was invoked; empty for none. Lambda sets it, not the caller,
// whom IAM has let in for exactly this.
func qualifier(ctx context.Context) string {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return ""
	}
	arn, ok := parseARN(lc.InvokedFunctionArn)
	if !ok {
		return ""
	}
	return arn.qualifier
}

// takeOrder decodes an order strictly, so that a wish that nobody fulfils is refused, and what is no order too.
func (h *Handler) takeOrder(ctx context.Context, payload []byte) ([]byte, error) {
	var ordered order.Order
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&ordered); err != nil {
		h.Log.Error("refused", "error", err)
		return encodeAnswer(order.Answer{Version: order.Version, Refused: fmt.Sprintf("this is no order: %v", err)})
	}
	return encodeAnswer(h.Order(ctx, ordered))
}

// encodeAnswer leaves definitions as they are: json.Marshal would escape what HTML means something by.
func encodeAnswer(answer order.Answer) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return encoded.Bytes(), nil
}

// Order does what a person has ordered, or says what it would do. What it refuses changes nothing.
func (h *Handler) Order(ctx context.Context, ordered order.Order) order.Answer {
	log := h.Log.With("source", ordered.Source, "operator", ordered.Operator, "request", ordered.Request,
		"publish", ordered.Publish)
	answer := order.Answer{Version: order.Version}
	if err := h.fulfil(ctx, log, ordered, &answer); err != nil {
		log.Error("refused", "error", err)
		answer.Refused = err.Error()
		return answer
	}
	log.Info("answered", "changes", len(answer.Changes), "snapshot", answer.Snapshot)
	if answer.Snapshot != "" {
		h.prune(ctx, log)
	}
	return answer
}

// fulfil fills in the answer.
func (h *Handler) fulfil(ctx context.Context, log *slog.Logger, ordered order.Order, answer *order.Answer) error {
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	if err := ordered.Check(); err != nil {
		return err
	}
	given, err := h.readOrdered(log, ordered.Tools)
	if err != nil {
		return err
	}
	live, snapshot, err := h.publisher.Live(ctx, ordered.Source)
	if err != nil {
		return err
	}
	answer.Live = snapshot
	tools, err := compare(live, given, ordered.Replace, answer)
	if err != nil || len(answer.Changes) == 0 {
		answer.Snapshot = unchanged(ordered, snapshot)
		return err
	}
	answer.Warnings, err = h.checkFunctions(ctx, changed(given, answer.Changes))
	if err != nil {
		return err
	}
	if err := fits(answer); err != nil {
		return err
	}
	receipt, err := h.publishOrdered(ctx, ordered, tools)
	answer.Snapshot = receipt.Snapshot
	return err
}

// unchanged is the snapshot that an order to publish leaves live, which changes nothing.
func unchanged(ordered order.Order, live string) string {
	if !ordered.Publish {
		return ""
	}
	return live
}

// readOrdered reads contracts and binds them to their functions. A name that is there twice is told by its files,
// before anything is compared by names.
func (h *Handler) readOrdered(log *slog.Logger, tools []order.Tool) ([]registry.Publication, error) {
	b := binder{log: log, standIn: h.StandIn}
	files := map[string]string{}
	for _, t := range tools {
		tool := b.parse(t.File, t.Contract)
		if tool == nil {
			continue
		}
		if other, twice := files[tool.Name]; twice {
			b.fault("%s: the name %s is that of %s, too; a name has one tool", t.File, tool.Name, other)
		}
		files[tool.Name] = t.File
		b.bind(tool, t.Function, "function")
	}
	return b.publications, b.err()
}

// compare says in the answer what changes, and returns all that the source is to serve.
func compare(live, given []registry.Publication, replace bool, answer *order.Answer) ([]registry.Publication, error) {
	tools := slices.Clone(given)
	for _, old := range live {
		name := old.Tool.Name
		switch {
		case slices.ContainsFunc(given, func(p registry.Publication) bool { return p.Tool.Name == name }):
		case replace:
			answer.Changes = append(answer.Changes, order.Change{Name: name, Before: &order.State{Function: old.Function}})
		default:
			tools = append(tools, old)
			answer.Kept = append(answer.Kept, name)
		}
	}
	for _, p := range given {
		change, err := changeOf(live, p)
		if err != nil {
			return nil, err
		}
		if change != nil {
			answer.Changes = append(answer.Changes, *change)
		} else {
			answer.Kept = append(answer.Kept, p.Tool.Name)
		}
	}
	slices.SortFunc(answer.Changes, func(a, b order.Change) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(answer.Kept)
	return tools, nil
}

// changeOf is what publishing a tool changes; nil for nothing.
func changeOf(live []registry.Publication, p registry.Publication) (*order.Change, error) {
	after, err := stateOf(p)
	if err != nil {
		return nil, err
	}
	change := &order.Change{Name: p.Tool.Name, After: after}
	at := slices.IndexFunc(live, func(old registry.Publication) bool { return old.Tool.Name == p.Tool.Name })
	if at < 0 {
		return change, nil
	}
	if change.Before, err = stateOf(live[at]); err != nil {
		return nil, err
	}
	same := change.Before.Function == after.Function && bytes.Equal(change.Before.Definition, after.Definition) &&
		bytes.Equal(change.Before.Contract, after.Contract)
	if same {
		return nil, nil
	}
	return change, nil
}

func stateOf(p registry.Publication) (*order.State, error) {
	stored, err := json.Marshal(p.Tool.Contract)
	if err != nil {
		return nil, fmt.Errorf("encoding the contract of tool %s: %w", p.Tool.Name, err)
	}
	return &order.State{Function: p.Function, Definition: p.Tool.Definition, Contract: stored}, nil
}

// changed are those of the tools that change. The functions of others are not looked at again: what has become of them
// is no fault of this order.
func changed(given []registry.Publication, changes []order.Change) []registry.Publication {
	return slices.DeleteFunc(slices.Clone(given), func(p registry.Publication) bool {
		return !slices.ContainsFunc(changes, func(c order.Change) bool { return c.Name == p.Tool.Name })
	})
}

// fits refuses what Lambda would not carry back, before anything is published.
func fits(answer *order.Answer) error {
	data, err := encodeAnswer(*answer)
	if err != nil {
		return err
	}
	if len(data) > order.MaxBytes {
		answer.Changes = nil
		return fmt.Errorf("what changes has %d bytes; allowed: %d in one order: give fewer tools at a time", len(data),
			order.MaxBytes)
	}
	return nil
}

// publishOrdered publishes, or says why that would be refused.
func (h *Handler) publishOrdered(
	ctx context.Context, ordered order.Order, tools []registry.Publication,
) (registry.Receipt, error) {
	by := registry.Order{Operator: ordered.Operator, Request: ordered.Request}
	if h.MaxCallSeconds > 0 {
		by.Settings = &registry.Settings{MaxCallSeconds: h.MaxCallSeconds}
	}
	if !ordered.Publish {
		return registry.Receipt{}, h.publisher.Check(ctx, ordered.Source, by, tools)
	}
	by.Over = &ordered.Live
	receipt, err := h.publisher.PublishAs(ctx, ordered.Source, by, tools)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the registrar ran out of time: %w", err)
	}
	return receipt, err
}
