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
// change.
type admission struct {
	db     ReadDB
	table  string
	source string
	tools  []*contract.Tool
	free   map[string]bool // ids of snapshots without any of the tools' names
}

func newAdmission(db ReadDB, table, source string, publications []Publication) *admission {
	a := &admission{db: db, table: table, source: source, free: map[string]bool{}}
	for _, p := range publications {
		a.tools = append(a.tools, p.Tool)
	}
	return a
}

// check returns a *ConflictError when a source in h other than the publisher's owns any of the names. The limits may
// have changed since the tools were prepared.
func (a *admission) check(ctx context.Context, h *head, limits contract.ServerLimits) error {
	if err := contract.CheckTools(a.tools, limits).Err(); err != nil {
		return fmt.Errorf("publishing %s: %w", a.source, err)
	}
	owners := map[string]string{}
	for source, published := range h.Sources {
		if source == a.source || a.free[published.Snapshot] {
			continue
		}
		x, err := readIndex(ctx, a.db, a.table, published.Snapshot)
		if err != nil {
			return fmt.Errorf("reading the names of source %s: %w", source, err)
		}
		before := len(owners)
		for _, tool := range a.tools {
			if _, found := slices.BinarySearch(x.Names, tool.Name); found {
				owners[tool.Name] = source
			}
		}
		a.free[published.Snapshot] = len(owners) == before
	}
	if len(owners) > 0 {
		return &ConflictError{Source: a.source, Owners: owners}
	}
	return nil
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
