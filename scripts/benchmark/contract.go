package benchmark

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/scripts/localdb"
	"patchbay/scripts/nodemodules"
	"patchbay/shared/ledger"
	"patchbay/shared/principal"
	"patchbay/shared/seal"
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
