package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// holds is a condition in the model's table, as DynamoDB evaluates its expression.
func (c condition) holds(stored item) bool {
	if c == (condition{}) {
		return true
	}
	if c.free && (stored == nil || (&decoder{item: stored}).number(TTLAttribute) <= c.now) {
		return true
	}
	if stored == nil || c.owner == "" {
		return false
	}
	d := decoder{item: stored}
	inState := d.text("state") == string(c.state) && d.number(TTLAttribute) > c.now
	return d.text("owner") == c.owner && (c.state == "" || inState)
}

// dump is a text that equal items share.
func dump(stored item) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		switch value := stored[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&out, "%s=%q ", name, value.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&out, "%s=%s ", name, value.Value)
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&out, "%s=%x ", name, value.Value)
		case *types.AttributeValueMemberBOOL:
			fmt.Fprintf(&out, "%s=%v ", name, value.Value)
		}
	}
	return out.String()
}

// memory is a table in memory that is never changed in place.
type memory map[key]item

// after is the table once w was made, and whether it was.
func (m memory) after(w write) (memory, bool) {
	if !w.when.holds(m[w.key]) {
		return m, false
	}
	changed := maps.Clone(m)
	if changed == nil {
		changed = memory{}
	}
	changed[w.key] = w.item
	if w.item == nil {
		delete(changed, w.key)
	}
	return changed, true
}

// memoryStore is a store on a table in memory.
type memoryStore struct{ memory }

func (s *memoryStore) get(_ context.Context, k key) (item, error) { return s.memory[k], nil }

func (s *memoryStore) write(_ context.Context, w write) (item, bool, error) {
	changed, ok := s.after(w)
	if !ok {
		return s.memory[w.key], false, nil
	}
	s.memory = changed
	return nil, true, nil
}

// The model's table and the engine agree on every condition that the ledger sends, over every kind of stored item.
func TestMemoryAgreesWithEngine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	real := &dynamoStore{db: f.db, table: f.table}
	now := f.time.Unix()
	var contents []*record
	for _, owner := range []string{"me", "other"} {
		for _, s := range []state{stateLeased, stateCompleted, stateUnknown} {
			for _, expires := range []int64{now - 1, now, now + 1} {
				contents = append(contents, &record{state: s, owner: owner, leaseUntil: f.time, expires: expires})
			}
		}
	}
	contents = append(contents, nil)
	conditions := []condition{
		{}, {free: true, now: now}, {free: true, now: now, owner: "me"}, {owner: "me", state: stateLeased, now: now},
		{owner: "me", state: stateCompleted, now: now}, {owner: "me", state: stateUnknown, now: now},
	}
	id := NewID("", "", "")
	for _, stored := range contents {
		for _, when := range conditions {
			for _, put := range []*record{nil, {state: stateLeased, owner: "new", leaseUntil: f.time, expires: now + 5}} {
				modelled := &memoryStore{}
				for _, s := range []store{real, modelled} {
					if _, ok, err := s.write(t.Context(), change{put: stored}.write(id)); !ok || err != nil {
						t.Fatal(ok, err)
					}
				}
				_, want, err := modelled.write(t.Context(), change{put: put, when: when}.write(id))
				f.must(err)
				_, got, err := real.write(t.Context(), change{put: put, when: when}.write(id))
				f.must(err)
				if got != want {
					t.Errorf("%+v on %+v is %v in DynamoDB, %v in the model", when, stored, got, want)
				}
				equal(t, "item", dump(f.stored(leaseKey(id))), dump(modelled.memory[leaseKey(id)]))
			}
		}
	}
}
