package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"patchbay/shared/contract"
)

// Publication is one tool to publish.
type Publication struct {
	Tool *contract.Tool
	// Function is the ARN of its Lambda function with a version or an alias.
	Function string
}

// prepare checks the parts of a publish and returns its records in order of name. The error lists every fault, so that
// no publisher has to check anything itself.
func prepare(source string, order Order, tools []Publication, limits contract.ServerLimits) ([]record, error) {
	faults := []error{checkSource(source), order.check(), checkContracts(tools, limits)}
	records := make([]record, 0, len(tools))
	size := 0
	for _, tool := range tools {
		r, err := tool.record()
		faults = append(faults, err)
		records = append(records, r)
		size += r.size()
	}
	if size > maxSnapshotBytes {
		faults = append(faults, fmt.Errorf("all tools together have %d bytes; allowed: %d", size, maxSnapshotBytes))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("publishing %s: %w", source, err)
	}
	slices.SortFunc(records, func(a, b record) int { return strings.Compare(a.name, b.name) })
	return records, nil
}

// checkContracts refuses tools that do not fit each other or the server. What is wrong within a contract was told when
// it was parsed.
func checkContracts(publications []Publication, limits contract.ServerLimits) error {
	tools := make([]*contract.Tool, 0, len(publications))
	for _, p := range publications {
		if p.Tool == nil {
			continue
		}
		tools = append(tools, p.Tool)
	}
	return contract.CheckTools(tools, limits).Err()
}

func checkSource(source string) error {
	if source == "" || len(source) > maxSourceBytes || strings.ContainsFunc(source, unprintable) {
		return fmt.Errorf("source %q: allowed: 1 to %d bytes of printable text", source, maxSourceBytes)
	}
	return nil
}

// check bounds what goes into HEAD and into a manifest.
func (o Order) check() error {
	bounds := []struct {
		what, text string
		most       int
	}{
		{"publisher", o.By, maxByBytes}, {"request", o.Request, maxSourceBytes}, {"operator", o.Operator, maxSourceBytes},
	}
	var faults []error
	for _, b := range bounds {
		if len(b.text) > b.most || strings.ContainsFunc(b.text, unprintable) {
			faults = append(faults, fmt.Errorf("%s %q: allowed: up to %d bytes of printable text", b.what, b.text, b.most))
		}
	}
	return errors.Join(faults...)
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// record is the stored form of a publication, checked so that every reader can decode it.
func (p Publication) record() (record, error) {
	if p.Tool == nil {
		return record{}, fmt.Errorf("function %s: published without a tool", p.Function)
	}
	name := p.Tool.Name
	stored, err := json.Marshal(p.Tool.Contract)
	if err != nil {
		return record{}, fmt.Errorf("tool %s: encoding its contract: %w", name, err)
	}
	r := record{name: name, function: p.Function, definition: p.Tool.Definition, contract: stored}
	if len(name) < 1 || len(name) > maxNameBytes {
		return r, fmt.Errorf("tool %q: the name has %d bytes; allowed: 1 to %d", name, len(name), maxNameBytes)
	}
	if !qualified(p.Function) {
		return r, fmt.Errorf("tool %s: function %q; allowed: a Lambda function's ARN with a version or an alias",
			name, p.Function)
	}
	if size := r.size(); size > maxToolBytes {
		return r, fmt.Errorf("tool %s: definition and contract have %d bytes; allowed: %d", name, size, maxToolBytes)
	}
	decoded, err := contract.Decode(r.definition, r.contract)
	if err != nil {
		return r, fmt.Errorf("tool %s: %w", name, err)
	}
	if decoded.Name != name || !bytes.Equal(decoded.Definition, r.definition) {
		return r, fmt.Errorf("tool %s: its definition is of tool %q", name, decoded.Name)
	}
	return r, nil
}

// qualified reports whether arn is arn:<partition>:lambda:<region>:<account>:function:<name>:<version or alias>.
// $LATEST is refused: it would change under a published definition.
func qualified(arn string) bool {
	parts := strings.Split(arn, ":")
	return len(parts) == 8 && parts[0] == "arn" && parts[2] == "lambda" && parts[5] == "function" &&
		parts[6] != "" && parts[7] != "" && parts[7] != "$LATEST"
}

// admission decides whether a publish fits what HEAD says. It remembers the snapshots that it has compared, which never
// change, so that a publish reads each of them once, however often it meets other publishers.
type admission struct {
	db     ReadDB
	table  string
	source string
	tools  []*contract.Tool
	names  map[string]bool
	// functions maps each function, whatever its version, to the tools that it serves.
	functions map[string][]string
	free      map[string]bool // ids of snapshots that contest nothing
}

func newAdmission(db ReadDB, table, source string, publications []Publication) *admission {
	a := &admission{
		db: db, table: table, source: source,
		names: map[string]bool{}, functions: map[string][]string{}, free: map[string]bool{},
	}
	for _, p := range publications {
		if p.Tool == nil {
			continue // prepare refuses it
		}
		a.tools = append(a.tools, p.Tool)
		a.names[p.Tool.Name] = true
		function := unqualified(p.Function)
		a.functions[function] = append(a.functions[function], p.Tool.Name)
	}
	return a
}

// check returns a *ConflictError when a source in h other than the publisher's owns any of the names or functions. The
// limits may have changed since the tools were prepared. Where the tools are what the source serves already, they
// contest nothing that was free before: a release that knew of names alone may have let two sources have one function.
func (a *admission) check(ctx context.Context, h *head, again bool, limits contract.ServerLimits) error {
	if err := contract.CheckTools(a.tools, limits).Err(); err != nil {
		return fmt.Errorf("publishing %s: %w", a.source, err)
	}
	if again {
		return nil
	}
	conflict := &ConflictError{Source: a.source, Owners: map[string]string{}}
	for source, published := range h.Sources {
		if source == a.source || a.free[published.Snapshot] {
			continue
		}
		before := conflict.size()
		if err := a.compare(ctx, source, published.Snapshot, conflict); err != nil {
			return err
		}
		a.free[published.Snapshot] = conflict.size() == before
	}
	if conflict.size() == 0 {
		return nil
	}
	conflict.sort()
	return conflict
}

// compare adds to conflict what a snapshot contests. It reads names and functions from the snapshot's tools, in the one
// query that the index alone would take as a request.
func (a *admission) compare(ctx context.Context, source, snapshot string, conflict *ConflictError) error {
	compared := map[string]bool{}
	found := 0
	x, err := readIndexAndTools(ctx, a.db, a.table, snapshot, func(r record) {
		found++
		if a.names[r.name] {
			conflict.Owners[r.name] = source
		}
		function := unqualified(r.function)
		if compared[function] {
			return
		}
		compared[function] = true
		for _, tool := range a.functions[function] {
			conflict.Functions = append(conflict.Functions, FunctionConflict{Tool: tool, Function: function, Owner: source})
		}
	})
	if err == nil && found != len(x.Names) {
		err = errGone
	}
	if err != nil {
		return fmt.Errorf("reading the tools of source %s: %w", source, err)
	}
	return nil
}

// readIndexAndTools reads a snapshot's names, and its tools one after the other, none of which is kept.
func readIndexAndTools(
	ctx context.Context, db ReadDB, table, snapshot string, visit func(record),
) (*index, error) {
	var x *index
	err := queryItems(ctx, db, between(table, snapshotPrefix+snapshot, indexKey, afterTools), func(stored item) error {
		sk, err := stored.text(SortKey)
		if err != nil {
			return err
		}
		if sk == indexKey {
			x, err = decodeIndex(stored)
			return err
		}
		records, err := decodeRecords(stored)
		for _, r := range records {
			visit(r)
		}
		return err
	})
	if err == nil && x == nil {
		err = errGone
	}
	if err != nil {
		return nil, fmt.Errorf("reading snapshot %s: %w", snapshot, err)
	}
	return x, nil
}

// unqualified is the ARN of a function without its version or alias.
func unqualified(arn string) string {
	parts := strings.Split(arn, ":")
	return strings.Join(parts[:min(len(parts), 7)], ":")
}

// readIndex reads a snapshot's names.
func readIndex(ctx context.Context, db ReadDB, table, snapshot string) (*index, error) {
	stored, err := getItem(ctx, db, table, snapshotPrefix+snapshot, indexKey)
	if err == nil && stored == nil {
		err = errGone
	}
	if err != nil {
		return nil, fmt.Errorf("reading the index of snapshot %s: %w", snapshot, err)
	}
	x, err := decodeIndex(stored)
	if err != nil {
		return nil, fmt.Errorf("reading snapshot %s: %w", snapshot, err)
	}
	return x, nil
}
