package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestModel walks every interleaving of the steps of two or three actors. A step is a request to the table, a look at
// the clock, or the beginning or the end of a tool's run. Between any two of them time may pass (past the start
// window, a lease, a replay, a record), a tool that was left alone may end, and some writes lose their answer: they
// are made at once, at any later time, or never. An actor that dies, or whose read fails, is one whose next step
// never comes, and every beginning of every course is such a case; where a tool is left running by that, the step is
// that its connection broke.
//
// In every state of every course it must hold that
//   - no tool runs twice at the same time, and a tool that is not idempotent has its effect once, unless its record
//     ended, its replay did, or an operator freed it;
//   - once a record is completed, and before Complete succeeds it is, a reader finds its result and no other until the
//     record or its replay ends;
//   - once a lease has run out, a result that its owner stored is found;
//   - clients get no result that was not recorded so: all who ask for one record get one result;
//   - an ended record is free for everyone, and no record is without an end;
//   - an operation without a failed request has no error.
//
// The actors are the ledger's own code; only the table is the model's, and TestMemoryAgreesWithEngine compares it with
// the engine.
func TestModel(t *testing.T) {
	t.Parallel()
	const replay = 30 * time.Minute
	window := []time.Duration{0, startTick, time.Minute}
	short := []time.Duration{0, time.Minute, 30 * time.Hour}
	long := []time.Duration{0, time.Minute, time.Hour, 30 * time.Hour}
	free, found := Resolution{}, Resolution{Result: []byte(operatorResult)}
	for _, test := range []struct {
		name       string
		senders    int
		sends      int
		idempotent bool
		replay     time.Duration
		operator   *Resolution
		faults     int8
		times      []time.Duration
	}{
		{"two senders", 2, 2, false, 0, nil, 1, short},
		{"two senders, idempotent", 2, 2, true, 0, nil, 0, short},
		{"two senders, start window", 2, 2, false, 0, nil, 1, window},
		{"two senders, idempotent, start window", 2, 1, true, 0, nil, 1, window},
		{"two senders, two faults", 2, 1, false, 0, nil, 2, short},
		{"two senders, idempotent, two faults", 2, 1, true, 0, nil, 2, short},
		{"two senders, replay ends", 2, 1, false, replay, nil, 1, long},
		{"two senders, idempotent, replay ends", 2, 1, true, replay, nil, 1, long},
		{"operator frees", 2, 1, false, 0, &free, 1, short},
		{"operator completes", 2, 1, false, 0, &found, 1, short},
		{"operator completes, idempotent", 2, 1, true, 0, &found, 0, short},
		{"three senders", 3, 1, false, 0, nil, 0, short},
		{"three senders, idempotent", 3, 1, true, 0, nil, 0, short[:2]},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			call := Call{
				ID: NewID("user", "tool", "key"), Query: Query{Idempotent: test.idempotent},
				Timeout: 10 * time.Second, TTL: 24 * time.Hour,
			}
			if raceDetector {
				test.sends, test.faults = 1, 0 // The model has no goroutines; what it proves it proves without this.
			}
			m := newModel(t, call, test.times)
			for range test.senders {
				m.add(sender(call, test.replay, test.sends))
			}
			if test.operator != nil {
				m.operator = len(m.programs)
				m.add(operator(call.ID, *test.operator))
			}
			m.explore(test.faults)
		})
	}
}

// startTick is a passage of time that is longer than the start window and short enough for a tool to run through it.
const startTick = StartWindow + time.Second

const (
	maxActors = 3
	maxOwners = 8
	nobody    = -1 // in world.actors: through, or not there
)

// world is a state of the model. Everything larger than a number is interned.
type world struct {
	actors  [maxActors]int32 // what each was answered so far: an index of model.histories
	table   int32            // an index of model.tables
	late    int32            // the history whose write is still under way; 0 for none
	time    int8
	faults  int8  // how many requests may still fail
	running uint8 // whose tool is running, a bit for each actor

	// What follows is not seen by the actors. A span is a time in which the call may have one effect and one result.
	acted    uint8 // the owners whose tools had an effect in this span, a bit for each
	promised int8  // whose result readers must find in this span; 0 for none
	recorded uint8 // the owners for whom a record was ever completed, a bit for each
}

// history is an actor that was given some answers.
type history struct {
	actor  int
	parent int32
	reply  reply
	asked  question
}

// replyKey is a reply that can be compared.
type replyKey struct {
	item      int32
	ok, fault bool
	time      int8
	choice    choice
}

type model struct {
	*testing.T
	call     Call
	start    time.Time
	times    []time.Duration
	programs []func(*script)
	operator int
	first    world

	histories []history
	children  map[childKey]int32
	local     map[localKey]int32
	tables    []modelTable
	tableIDs  map[string]int32
	items     map[string]int32
	written   map[writeKey]writeResult
	observed  map[observedKey]Record

	worlds  []world
	parents []int32
	seen    map[world]struct{}
}

// modelTable is a content of the table, with what is often looked at.
type modelTable struct {
	items  memory
	ids    map[key]int32 // each item's, from 1
	record *record
	// result is who the result of the record's owner is from, 0 when there is none; resultUntil when its replay ends.
	result      int8
	resultUntil time.Time
}

type childKey struct {
	parent int32
	reply  replyKey
}

type localKey struct {
	actor int
	local string
}

type writeKey struct{ table, history int32 }

type writeResult struct {
	table int32
	ok    bool
}

type observedKey struct {
	table int32
	time  int8
}

func newModel(t *testing.T, call Call, times []time.Duration) *model {
	m := &model{
		T: t, call: call, times: times, start: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC), operator: nobody,
		histories: make([]history, 1), children: map[childKey]int32{}, local: map[localKey]int32{},
		tableIDs: map[string]int32{},
		items:    map[string]int32{}, written: map[writeKey]writeResult{}, observed: map[observedKey]Record{},
		seen: map[world]struct{}{},
	}
	m.internTable(memory{})
	return m
}

func (m *model) add(program func(*script)) { m.programs = append(m.programs, program) }

func (m *model) now(w *world) time.Time { return m.start.Add(m.times[w.time]) }

// explore visits every world that can be reached.
func (m *model) explore(faults int8) {
	first := world{faults: faults, actors: [maxActors]int32{nobody, nobody, nobody}}
	for i := range m.programs {
		first.actors[i] = m.follow(&first, -1, m.newHistory(history{actor: i}), reply{}, replyKey{})
	}
	m.first = first
	m.visit(first, -1)
	steps := 0
	for at := 0; at < len(m.worlds) && !m.Failed(); at++ {
		for _, next := range m.steps(m.worlds[at], int32(at)) {
			steps++
			m.visit(next, int32(at))
		}
	}
	m.Logf("%d states, %d steps, %d histories, %d tables", len(m.worlds), steps, len(m.histories)-1, len(m.tables))
}

func (m *model) visit(w world, parent int32) {
	if _, found := m.seen[w]; found {
		return
	}
	m.seen[w] = struct{}{}
	m.worlds = append(m.worlds, w)
	m.parents = append(m.parents, parent)
	m.checkRecord(&w)
}

// steps are all worlds that can follow at once.
func (m *model) steps(w world, at int32) []world {
	next := m.surroundings(w, at)
	for i, h := range w.actors {
		if h == nobody {
			continue
		}
		if i > 0 && i != m.operator && h == m.first.actors[i] && w.actors[i-1] == m.first.actors[i-1] {
			continue // Senders are alike, so it is enough that they begin in this order.
		}
		next = append(next, m.answers(w, at, i)...)
	}
	return next
}

// surroundings are the steps that are no actor's.
func (m *model) surroundings(w world, at int32) []world {
	var next []world
	if w.late != 0 {
		never := w
		never.late = 0
		landed := never
		m.land(&landed, at, w.late)
		next = append(next, never, landed)
	}
	for i := range m.programs {
		waiting := w.actors[i] != nobody && m.histories[w.actors[i]].asked.kind == askEnd
		if w.running&(1<<i) != 0 && !waiting {
			ended := w
			ended.running &^= 1 << i
			next = append(next, ended)
		}
	}
	if later, ok := m.pass(w); ok {
		next = append(next, later)
	}
	return next
}

// pass lets time pass, but not beyond the timeout of a tool that is running.
func (m *model) pass(w world) (world, bool) {
	if int(w.time)+1 == len(m.times) || w.running != 0 && m.times[w.time+1]-m.times[w.time] > startTick {
		return w, false
	}
	before := m.lasts(&w)
	w.time++
	if before && !m.lasts(&w) {
		w.nextSpan()
	}
	return w, true
}

// lasts reports whether there is a record that still rules other runs out, be it by an unknown outcome.
func (m *model) lasts(w *world) bool {
	table, now := &m.tables[w.table], m.now(w)
	r := table.record
	switch {
	case r == nil || ended(r.expires, now):
		return false
	case r.state == stateCompleted:
		return !passed(r.replayUntil, now)
	case r.state == stateLeased && !now.Before(r.leaseUntil):
		return !passed(table.resultUntil, now)
	}
	return true
}

func (w *world) nextSpan() {
	w.acted, w.promised = 0, 0
}

// answers are the worlds in which actor i's question got one of its possible answers.
func (m *model) answers(w world, at int32, i int) []world {
	h := w.actors[i]
	asked := &m.histories[h].asked
	var next []world
	answer := func(changed world, r reply, id int32) {
		key := replyKey{item: id, ok: r.ok, fault: r.fault, choice: r.choice}
		if !r.now.IsZero() {
			key.time = changed.time
		}
		changed.actors[i] = m.follow(&changed, at, h, r, key)
		next = append(next, changed)
	}
	switch asked.kind {
	case askClock:
		answer(w, reply{now: m.now(&w)}, 0)
	case askGet:
		table := &m.tables[w.table]
		answer(w, reply{item: table.items[asked.key]}, table.ids[asked.key])
	case askWrite:
		m.answerWrite(w, at, h, answer)
	case askStart:
		m.answerStart(w, at, i, asked.lease, answer)
	case askEnd:
		ends := w
		ends.running &^= 1 << i
		answer(ends, reply{choice: returned}, 0)
		answer(w, reply{choice: broken}, 0)
		if !asked.harmless {
			answer(ends, reply{choice: crashed}, 0)
		}
	}
	return next
}

func (m *model) answerWrite(w world, at, h int32, answer func(world, reply, int32)) {
	asked := &m.histories[h].asked
	made := w
	ok := m.land(&made, at, h)
	if ok {
		answer(made, reply{ok: true}, 0)
	} else {
		table := &m.tables[w.table]
		answer(made, reply{item: table.items[asked.write.key]}, table.ids[asked.write.key])
	}
	if w.faults > 0 && w.late == 0 {
		w.faults--
		w.late = h
		answer(w, reply{fault: true}, 0)
	}
}

func (m *model) answerStart(w world, at int32, i int, lease *Lease, answer func(world, reply, int32)) {
	if !lease.MayStart(m.now(&w)) {
		answer(w, reply{choice: tooLate}, 0)
		return
	}
	if w.running != 0 {
		m.violation(at, "a second tool runs while another does")
	}
	w.running |= 1 << i
	answer(w, reply{choice: harmless}, 0)
	if w.acted != 0 && !m.call.Idempotent {
		m.violation(at, "a tool that is not idempotent has a second effect")
	}
	w.acted |= 1 << ownerIndex(lease.record.owner)
	answer(w, reply{choice: effect}, 0)
}

// land makes the write of a history, if its condition holds.
func (m *model) land(w *world, at, h int32) bool {
	id := writeKey{w.table, h}
	result, found := m.written[id]
	if !found {
		items, ok := m.tables[w.table].items.after(m.histories[h].asked.write)
		result = writeResult{m.internTable(items), ok}
		m.written[id] = result
	}
	if !result.ok {
		return false
	}
	lasted := m.lasts(w)
	w.table = result.table
	r := m.tables[w.table].record
	if r == nil && m.histories[h].actor == m.operator && w.promised != 0 {
		m.violation(at, "an operator freed a completed record")
	}
	if r != nil && r.state == stateCompleted {
		m.completed(w, at, m.tables[w.table].result)
	}
	if lasted && !m.lasts(w) && (r != nil || m.histories[h].actor == m.operator) {
		w.nextSpan()
	}
	return true
}

// completed notes whose result readers must find from now on. A record that was completed too late, because it or its
// replay has ended, promises nothing.
func (m *model) completed(w *world, at int32, owner int8) {
	if owner == 0 {
		m.violation(at, "a record is completed without its result")
	}
	w.recorded |= 1 << owner
	if !m.lasts(w) {
		return
	}
	if w.promised != 0 && w.promised != owner {
		m.violation(at, fmt.Sprintf("the result of %d replaced that of %d", owner, w.promised))
	}
	w.promised = owner
}

// checkDelivery is about what a client gets.
func (m *model) checkDelivery(w *world, at int32, asked *question) {
	if asked.err != nil {
		m.violation(at, fmt.Sprintf("error without a failed request: %v", asked.err))
	}
	if asked.record.Status != Completed {
		return
	}
	owner := ownerIndex(string(asked.record.Result))
	if w.recorded&(1<<owner) == 0 {
		m.violation(at, fmt.Sprintf("a client got the result of %d, which was never recorded", owner))
	}
}

// checkRecord is about what a reader finds who is alone and quick.
func (m *model) checkRecord(w *world) {
	key := observedKey{w.table, w.time}
	met, found := m.observed[key]
	if !found {
		met = m.observe(w)
		m.observed[key] = met
	}
	at := int32(len(m.worlds) - 1)
	if w.promised != 0 && (met.Status != Completed || ownerIndex(string(met.Result)) != w.promised) {
		m.violation(at, fmt.Sprintf(
			"the result of %d was completed, and a reader finds %s with %q", w.promised, met.Status, met.Result))
	}
}

// observe reads the record and, if that says it is free, takes a lease, which must succeed.
func (m *model) observe(w *world) Record {
	at := int32(len(m.worlds) - 1)
	now := m.now(w)
	table := &memoryStore{m.tables[w.table].items}
	l := newLedger(table, func() time.Time { return now }, func() string { return "observer" })
	met, err := l.Read(context.Background(), m.call.ID, m.call.Query)
	if err != nil {
		m.violation(at, fmt.Sprintf("a reader fails: %v", err))
	}
	if lease, _, err := l.Acquire(context.Background(), m.call); (lease != nil) != (met.Status == Free) || err != nil {
		m.violation(at, fmt.Sprintf("a reader finds %s, and gets a lease: %v, %v", met.Status, lease != nil, err))
	}
	m.checkEnds(w, at, met)
	return met
}

// checkEnds is about a record that ended or whose lease did, and what a reader made of it.
func (m *model) checkEnds(w *world, at int32, met Record) {
	table, now := &m.tables[w.table], m.now(w)
	r := table.record
	if r == nil {
		return
	}
	if table.result != 0 && m.lasts(w) && !now.Before(r.leaseUntil) && met.Status != Completed {
		m.violation(at, fmt.Sprintf("the result of %d is lost: a reader finds %s", table.result, met.Status))
	}
	if ended(r.expires, now) && met.Status != Free {
		m.violation(at, fmt.Sprintf("an ended record is %s", met.Status))
	}
	if longest := now.Add(time.Minute + m.call.TTL).Unix(); r.expires > longest {
		m.violation(at, fmt.Sprintf("a record lasts %d s too long", r.expires-longest))
	}
}

// ownerIndex numbers those who have results, from 1.
func ownerIndex(owner string) int8 {
	if owner == operatorResult {
		return maxOwners - 1
	}
	var actor, n int8
	if _, err := fmt.Sscanf(owner, "%d.%d", &actor, &n); err != nil {
		panic(err)
	}
	return actor*2 + n
}

func (m *model) newHistory(h history) int32 {
	var answers []reply
	for at := h; at.parent != 0; at = m.histories[at.parent] {
		answers = append(answers, at.reply)
	}
	slices.Reverse(answers)
	s := &script{actor: h.actor, answers: answers}
	s.run(m.programs[h.actor])
	h.asked = s.asked
	known := localKey{h.actor, h.asked.local}
	if id, found := m.local[known]; found {
		return id
	}
	m.histories = append(m.histories, h)
	id := int32(len(m.histories) - 1)
	if known.local != "" {
		m.local[known] = id
	}
	return id
}

// follow is the history after an answer. What the actor tells its client then is seen at once: nothing else depends on
// when.
func (m *model) follow(w *world, at, parent int32, r reply, key replyKey) int32 {
	id := m.child(parent, r, key)
	for {
		switch asked := &m.histories[id].asked; asked.kind {
		case askNothing:
			return nobody
		case askDeliver:
			m.checkDelivery(w, at, asked)
		case askPause:
		default:
			return id
		}
		id = m.child(id, reply{}, replyKey{})
	}
}

func (m *model) child(parent int32, r reply, key replyKey) int32 {
	id, found := m.children[childKey{parent, key}]
	if !found {
		id = m.newHistory(history{actor: m.histories[parent].actor, parent: parent, reply: r})
		m.children[childKey{parent, key}] = id
	}
	return id
}

func (m *model) internItem(i item) int32 {
	text := dump(i)
	id, found := m.items[text]
	if !found {
		id = int32(len(m.items) + 1)
		m.items[text] = id
	}
	return id
}

func (m *model) internTable(table memory) int32 {
	ids := map[key]int32{}
	for k, i := range table {
		ids[k] = m.internItem(i)
	}
	text := fmt.Sprint(slices.Sorted(maps.Values(ids)))
	id, found := m.tableIDs[text]
	if !found {
		id = int32(len(m.tables))
		m.tables = append(m.tables, m.newTable(table, ids))
		m.tableIDs[text] = id
	}
	return id
}

func (m *model) newTable(items memory, ids map[key]int32) modelTable {
	table := modelTable{items: items, ids: ids}
	var err error
	if table.record, err = decodeMet(m.call.ID, items[leaseKey(m.call.ID)]); err != nil {
		m.Fatal(err)
	}
	if table.record == nil {
		return table
	}
	if stored := items[resultKey(m.call.ID, table.record.owner)]; stored != nil {
		found, err := decodeResult(stored)
		if err != nil {
			m.Fatal(err)
		}
		table.result, table.resultUntil = ownerIndex(string(found.data)), found.replayUntil
	}
	return table
}

// violation fails the test with the course that led to a world.
func (m *model) violation(at int32, problem string) {
	m.Helper()
	if m.Failed() {
		return
	}
	var course []string
	for ; at >= 0; at = m.parents[at] {
		course = append(course, m.describe(&m.worlds[at]))
	}
	slices.Reverse(course)
	m.Errorf("%s, after\n%s", problem, strings.Join(course, "\n"))
}

func (m *model) describe(w *world) string {
	text := fmt.Sprintf("at %-6v running %03b faults %d late %d acted %08b |",
		m.times[w.time], w.running, w.faults, w.late, w.acted)
	for _, h := range w.actors {
		if h == nobody {
			text += " -"
			continue
		}
		asked := &m.histories[h].asked
		names := [...]string{"nothing", "clock", "get", "write", "start", "end", "deliver", "pause"}
		text += fmt.Sprintf(" %s(%.1s%.1s)", names[asked.kind], asked.key.sk, asked.write.key.sk)
	}
	for k, stored := range m.tables[w.table].items {
		d := decoder{item: stored}
		if k.sk == "LEASE" {
			text += fmt.Sprintf(" | %s %s", d.text("state"), d.text("owner"))
			continue
		}
		text += fmt.Sprintf(" | result %s", d.bytes("data"))
	}
	return text
}
