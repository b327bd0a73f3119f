package benchmark

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/dispatcher/ratelimit"
	"patchbay/dispatcher/toolcall"
	"patchbay/scripts/localdb"
	"patchbay/scripts/nodemodules"
	"patchbay/shared/contract"
	"patchbay/shared/handle"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/ledger"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

// The contracts under which the tool is called.
const (
	plainContract = `{"risk":"low","idempotency":{"mode":"none"},"execution":{"timeoutSeconds":5}}`
	keyedContract = `{"risk":"low","idempotency":{"mode":"key","whenAbsent":"refuse","ttl":"1h"},` +
		`"execution":{"timeoutSeconds":5}}`
	confirmedContract = `{"risk":"critical","confirmation":"always","sideEffects":["Opens the sluice."],` +
		`"auditEvent":"sluice.opened","idempotency":{"mode":"none"},"execution":{"timeoutSeconds":5}}`
)

// Tables of the part.
const (
	ledgerTable = "bench-ledger"
	stateTable  = "bench-state"
)

// subject is who calls.
var subject = principal.Principal{Subject: "bench", Issuer: "https://issuer.example"}

// contracts is part (f): what the rules of a contract add to a call, over a function that answers at once and a real
// DynamoDB engine. How long a request to DynamoDB takes depends on where it runs; how many there are does not.
func (b *bench) contracts(ctx context.Context) error {
	engine, err := b.startEngine(ctx)
	if err != nil {
		return err
	}
	defer engine.Close()
	all, err := newTrials(ctx, localdb.Client(engine.URL))
	if err != nil {
		return err
	}
	if err := alternate(ctx, all, pick(b, 25, 6), pick(b, 20, 10)); err != nil {
		return err
	}
	b.addTrials(all)
	if err := b.ownCosts(ctx, all); err != nil {
		return err
	}
	return b.sealing(ctx)
}

// startEngine starts a DynamoDB engine in memory, with the module's packages, wherever the benchmark is run from.
func (b *bench) startEngine(ctx context.Context) (*localdb.Engine, error) {
	modules, err := nodemodules.Find(b.Module)
	if err != nil {
		return nil, err
	}
	return localdb.Start(ctx, localdb.Options{NodeModules: modules})
}

// trial is one kind of call or request that is measured.
type trial struct {
	what string
	// once makes it; an answer that is not what it should be is an error.
	once func(context.Context) error
	// anchor is what its time stands beside; nil for those that are anchors.
	anchor *trial
	// goal is the most requests to DynamoDB that it may make.
	goal int
	db   *counted

	// times are the medians of the rounds in nanoseconds, made the requests of the call that made the most.
	times []float64
	made  tally
}

// trials are all kinds.
type trials struct{ plain, keyed, replay, question, confirmed, read, load *trial }

func (t *trials) list() []*trial {
	return []*trial{t.plain, t.keyed, t.replay, t.question, t.confirmed, t.read, t.load}
}

func newTrials(ctx context.Context, client *dynamodb.Client) (*trials, error) {
	if err := ledger.CreateTable(ctx, client, ledgerTable); err != nil {
		return nil, err
	}
	db := &counted{client: client}
	all := &trials{
		plain:     &trial{what: "plain call", goal: 0},
		keyed:     &trial{what: "idempotent call", goal: 4},
		replay:    &trial{what: "its replay", goal: 2},
		question:  &trial{what: "call that must be confirmed, asked", goal: 0},
		confirmed: &trial{what: "confirmed call, both rounds", goal: 4},
		read:      &trial{what: "bare read", goal: 1},
		load:      &trial{what: "handle, loaded", goal: 1},
	}
	for _, t := range all.list() {
		t.db, t.anchor = db, all.plain
	}
	all.plain.anchor, all.read.anchor, all.load.anchor = nil, nil, all.read
	if err := all.setCalls(ctx, db); err != nil {
		return nil, err
	}
	return all, all.setLoads(ctx, db)
}

// setCalls makes the calls through dispatchers that differ in the tool's contract alone.
func (t *trials) setCalls(ctx context.Context, db *counted) error {
	desks := make([]*desk, 0, 3)
	for _, rules := range []string{plainContract, keyedContract, confirmedContract} {
		d, err := newDesk(rules, db)
		if err != nil {
			return err
		}
		desks = append(desks, d)
	}
	plain, keyed, confirmed := desks[0], desks[1], desks[2]
	t.plain.once = func(ctx context.Context) error { return plain.run(ctx, plain.request(""), false) }
	t.keyed.once = func(ctx context.Context) error { return keyed.run(ctx, keyed.request(rand.Text()), false) }
	again := rand.Text()
	t.replay.once = func(ctx context.Context) error { return keyed.run(ctx, keyed.request(again), true) }
	t.question.once = func(ctx context.Context) error {
		_, err := confirmed.ask(ctx)
		return err
	}
	t.confirmed.once = confirmed.confirm
	return keyed.run(ctx, keyed.request(again), false)
}

// desk is a dispatcher's tool calls of one tool.
type desk struct {
	caller *toolcall.Caller
	params mcp.Params
}

func newDesk(rules string, db *counted) (*desk, error) {
	all, err := tools(1)
	if err != nil {
		return nil, err
	}
	tool, err := contract.Decode(all[0].Definition, json.RawMessage(rules))
	if err != nil {
		return nil, err
	}
	message, err := jsonrpc.Decode([]byte(callOf(toolName).body))
	if err != nil {
		return nil, err
	}
	params, err := mcp.ParseParams(message.Params)
	if err != nil {
		return nil, err
	}
	params.Meta.ClientCapabilities = json.RawMessage(`{"elicitation":{"form":{}}}`)
	return &desk{params: params, caller: toolcall.New(toolcall.Config{
		Catalogue: single{&registry.Entry{Tool: tool, Function: functionARN}}, Functions: instant{},
		Sealer:  seal.New(seal.NewRing(), seal.Options{}),
		Ledger:  ledger.New(db, ledgerTable, ledger.Options{}),
		Limiter: ratelimit.New(db, ledgerTable), ServerInfo: json.RawMessage(`{"name":"bench","version":"1.0.0"}`),
		Log: quiet(), Audit: quiet(),
	})}, nil
}

// request is a call under an idempotency key; empty for none.
func (d *desk) request(key string) *toolcall.Request {
	request := &toolcall.Request{
		RequestID: "00000000-0000-0000-0000-000000000000", ProtocolVersion: mcp.Version20260728, Modern: true,
		Header: http.Header{}, Params: d.params, Principal: subject, Deadline: time.Now().Add(time.Minute),
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return request
}

// run makes a call, whose answer must be the tool's, and a recorded one or not.
func (d *desk) run(ctx context.Context, request *toolcall.Request, replayed bool) error {
	answer, err := d.caller.Call(ctx, request)
	if err != nil {
		return fmt.Errorf("calling the tool: %w", err)
	}
	text := string(answer)
	if !strings.Contains(text, structured) || strings.Contains(text, `"`+mcp.MetaReplayed+`":true`) != replayed {
		return fmt.Errorf("a call was answered with %.500s; expected is the tool's answer, replayed: %t", text, replayed)
	}
	return nil
}

// ask makes a call that must be confirmed and returns the state that came with the question.
func (d *desk) ask(ctx context.Context) (string, error) {
	answer, err := d.caller.Call(ctx, d.request(""))
	if err != nil {
		return "", fmt.Errorf("calling the tool: %w", err)
	}
	var question struct{ ResultType, RequestState string }
	if err := json.Unmarshal(answer, &question); err != nil {
		return "", fmt.Errorf("reading a question: %w", err)
	}
	if question.ResultType != "input_required" || question.RequestState == "" {
		return "", fmt.Errorf("a call was answered with %.500s; expected is a question", answer)
	}
	return question.RequestState, nil
}

// confirm makes a call, agrees to it, and makes it again, so that it runs.
func (d *desk) confirm(ctx context.Context) error {
	state, err := d.ask(ctx)
	if err != nil {
		return err
	}
	request := d.request("")
	request.Params.RequestState, request.Params.HasState = state, true
	request.Params.InputResponses = json.RawMessage(
		`{"patchbay_confirmation":{"action":"accept","content":{"confirm":true}}}`)
	return d.run(ctx, request, false)
}

// basket is what the handle's value is.
type basket struct {
	Items []basketLine `json:"items"`
}

type basketLine struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// setLoads stores a basket and, for the bare read, an item that is as long.
func (t *trials) setLoads(ctx context.Context, db *counted) error {
	if err := handle.CreateTable(ctx, db.client, stateTable); err != nil {
		return err
	}
	caller := func(context.Context) (principal.Principal, bool) { return subject, true }
	baskets, err := handle.New[basket](handle.Table{DB: db, Name: stateTable}, caller,
		handle.Options{Namespace: "baskets", Prefix: "bsk", Kind: "basket"})
	if err != nil {
		return err
	}
	value := basket{Items: make([]basketLine, 10)}
	for i := range value.Items {
		value.Items[i] = basketLine{SKU: fmt.Sprintf("sku-%04d", i), Quantity: i + 1}
	}
	id, err := baskets.Create(ctx, value)
	if err != nil {
		return err
	}
	t.load.once = func(ctx context.Context) error {
		item, err := baskets.Load(ctx, id)
		if err == nil && len(item.Value.Items) != len(value.Items) {
			err = fmt.Errorf("a basket of %d lines was loaded with %d", len(value.Items), len(item.Value.Items))
		}
		return err
	}
	return t.setRead(ctx, db, value)
}

func (t *trials) setRead(ctx context.Context, db *counted, value basket) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a basket: %w", err)
	}
	key := map[string]types.AttributeValue{handle.PartitionKey: &types.AttributeValueMemberS{Value: "bare"}}
	_, err = db.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(stateTable),
		Item: map[string]types.AttributeValue{
			handle.PartitionKey: key[handle.PartitionKey], "data": &types.AttributeValueMemberS{Value: string(data)},
		},
	})
	if err != nil {
		return fmt.Errorf("storing an item: %w", err)
	}
	t.read.once = func(ctx context.Context) error {
		out, err := db.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(stateTable), Key: key, ConsistentRead: aws.Bool(true),
		})
		if err == nil && len(out.Item) != 2 {
			err = fmt.Errorf("an item of 2 attributes was read with %d", len(out.Item))
		}
		return err
	}
	return nil
}

// alternate measures all trials in turns. In a turn each is made several times, of which the median counts.
func alternate(ctx context.Context, all *trials, rounds, times int) error {
	kinds := all.list()
	for _, t := range kinds { // connections are made
		if err := t.once(ctx); err != nil {
			return fmt.Errorf("%s: %w", t.what, err)
		}
	}
	for i := range rounds {
		for j := range kinds {
			t := kinds[(i+j)%len(kinds)]
			if err := t.turn(ctx, times); err != nil {
				return fmt.Errorf("%s: %w", t.what, err)
			}
		}
	}
	return nil
}

// turn makes a trial so many times. The clock on the wall counts, since it waits for DynamoDB.
func (t *trial) turn(ctx context.Context, times int) error {
	took := make([]float64, 0, times)
	for range times {
		t.db.seen = tally{}
		began := time.Now()
		if err := t.once(ctx); err != nil {
			return err
		}
		took = append(took, float64(time.Since(began)))
		if t.db.seen.total() > t.made.total() {
			t.made = t.db.seen
		}
	}
	t.times = append(t.times, percentile(took, 50))
	return nil
}

func (b *bench) addTrials(all *trials) {
	for _, t := range all.list() {
		row := Row{Part: "f", What: t.what, Unit: nanoseconds, Measured: percentile(t.times, 50), Rounds: t.times}
		if t.anchor != nil {
			row.AnchorName, row.Anchor = t.anchor.what, percentile(t.anchor.times, 50)
			row.AnchorRounds = t.anchor.times
		}
		b.report.add(row)
		if t != all.read {
			b.addRequests(t.what, t.made, t.goal)
		}
	}
}

// ownCosts measures the processor time of the same calls: what the dispatcher spends itself, without the engine. The
// bare read tells how much of that is making a request and reading its answer.
func (b *bench) ownCosts(ctx context.Context, all *trials) error {
	measured := []*trial{all.plain, all.keyed, all.replay, all.read}
	operations := make([]func() error, 0, len(measured))
	for _, t := range measured {
		operations = append(operations, func() error { return t.once(ctx) })
	}
	costs, err := compare(ctx, pick(b, effort{40, 5e6}, effort{12, 4e6}), operations...)
	if err != nil {
		return err
	}
	for i, t := range measured[1:] {
		b.report.add(Row{
			Part: "f", What: t.what + ", processor time", Unit: nanoseconds, Measured: costs[i+1].nanoseconds,
			AnchorName: all.plain.what, Anchor: costs[0].nanoseconds,
		})
	}
	return nil
}

// sealing measures what a round's state costs: a confirmation's, which has a form in it.
func (b *bench) sealing(ctx context.Context) error {
	sealer := seal.New(seal.NewRing(), seal.Options{})
	binding := seal.Binding{
		Principal: subject, Tool: toolName, Arguments: make([]byte, 32), Contract: make([]byte, 32),
	}
	form := json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`)
	state := seal.State{
		Kind: seal.KindConfirmation, Expires: time.Now().Add(time.Hour),
		Asked: map[string]seal.Asked{"confirmation": {Method: "elicitation/create", Schema: form}},
	}
	text, err := sealer.Seal(ctx, binding, state)
	if err != nil {
		return err
	}
	costs, err := compare(ctx, pick(b, effort{100, 3e6}, effort{40, 2e6}), func() error {
		_, err := sealer.Seal(ctx, binding, state)
		return err
	}, func() error {
		_, err := sealer.Open(ctx, text, binding, seal.KindConfirmation)
		return err
	})
	if err != nil {
		return err
	}
	for i, what := range []string{"sealing", "opening"} {
		b.report.add(Row{
			Part: "f", What: fmt.Sprintf("%s a confirmation of %d bytes, processor time", what, len(text)),
			Unit: nanoseconds, Measured: costs[i].nanoseconds,
		})
	}
	return nil
}
