package localstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"patchbay/scripts/locallambda"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

// catalogueFault is what a fault is of that keeps the catalogue from being published.
const catalogueFault = "the catalogue"

// start puts the functions on the Lambda service that are other than what serves, and starts an instance of each: that
// shows whether the function works, and the first call finds it there.
func (r *round) start(ctx context.Context) {
	began := time.Now()
	parts := r.parts()
	needed := map[string]bool{}
	specifications := map[string]locallambda.Function{}
	for _, p := range parts {
		function, err := r.specificationOf(p)
		if err != nil {
			r.fault(p.name, err)
			continue
		}
		specifications[p.name] = function
		if errors.As(r.faults[p.name], new(*startFault)) && !wasTried(r.faults[p.name], function) {
			r.mend(p.name)
		}
		now := r.serving[p.name]
		differs := now == nil || r.pending[p.name] || !reflect.DeepEqual(now.function, function)
		needed[p.name] = differs && r.faults[p.name] == nil
	}
	if slices.Contains(slices.Collect(maps.Values(needed)), true) || r.differs() {
		// A fresh dispatcher has no view of the catalogue from before, nor has a fresh authorizer.
		for _, name := range []string{"dispatcher", "authorizer"} {
			_, exists := specifications[name]
			needed[name] = exists
		}
	}
	var work sync.WaitGroup
	for _, p := range parts {
		if needed[p.name] {
			work.Go(func() { r.try(ctx, p, specifications[p.name]) })
		}
	}
	work.Wait()
	if len(r.fresh) > 0 {
		r.change.Times.Start = time.Since(began)
	}
}

func (r *round) specificationOf(p *part) (locallambda.Function, error) {
	switch {
	case p.tool != nil:
		return r.specification(p.tool)
	case p.existing != nil:
		return r.existingSpecification(p.existing), nil
	case p.name == "authorizer":
		return r.authorizer(), nil
	}
	return r.dispatcher()
}

// try deploys a function and starts an instance of it.
func (r *round) try(ctx context.Context, p *part, function locallambda.Function) {
	r.mu.Lock()
	v, err := r.prepare(function)
	r.mu.Unlock()
	if err != nil {
		r.fault(p.name, err)
		return
	}
	if err := r.lambda.Warm(v.arn); err != nil {
		r.fault(p.name, r.explain(ctx, p, v, err))
		r.retire(v)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fresh[p.name] = v
}

// candidate is the tool of a folder as it can be published: as it is wanted, or as it is live where its function has a
// fault; nil for a new one with a fault.
func (r *round) candidate(name string) *contract.Tool {
	tool := r.wanted[name]
	if tool != nil && tool.Contract.Function.ARN == "" && r.faults[name] != nil {
		return r.live[name]
	}
	return tool
}

// differs reports whether the catalogue would be another one.
func (r *round) differs() bool {
	for name := range r.wanted {
		if r.candidate(name) != r.live[name] {
			return true
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(r.live)), func(name string) bool { return r.wanted[name] == nil })
}

// publish makes what is fresh serve.
func (r *round) publish(ctx context.Context) {
	began := time.Now()
	catalogue := map[string]*contract.Tool{}
	differs := r.differs()
	for name := range r.wanted {
		if tool := r.candidate(name); tool != nil {
			catalogue[name] = tool
			differs = differs || r.fresh[name] != nil
		}
	}
	if !differs && len(r.fresh) == 0 {
		return
	}
	if differs {
		if err := r.publishTools(ctx, catalogue); err != nil {
			r.drop(err)
			return
		}
	}
	r.mend(catalogueFault)
	r.serve(catalogue)
	r.change.Times.Publish = time.Since(began)
}

// publishTools replaces the stack's part of the catalogue.
func (r *round) publishTools(ctx context.Context, catalogue map[string]*contract.Tool) error {
	var publications []registry.Publication
	for _, tool := range slices.SortedFunc(maps.Values(catalogue), byName) {
		arn := ""
		if name := folder(tool); tool.Contract.Function.ARN != "" {
			arn = LocalFunction(tool.Contract.Function)
		} else if v := r.fresh[name]; v != nil {
			arn = v.arn
		} else {
			arn = r.serving[name].arn
		}
		publications = append(publications, registry.Publication{Tool: tool, Function: arn})
	}
	if _, err := r.Publisher().Publish(ctx, Source, publications); err != nil {
		return fmt.Errorf("publishing the catalogue: %w", err)
	}
	return nil
}

// drop gives up what was to serve. It stays pending, for the next round.
func (r *round) drop(err error) {
	for name, v := range r.fresh {
		r.retire(v)
		r.pending[name] = r.pending[name] || r.wanted[name] != nil
	}
	r.fresh = map[string]*served{}
	r.fault(catalogueFault, err)
}

// serve makes the fresh versions those that serve, after their tools were published, and notes what is different.
func (r *round) serve(catalogue map[string]*contract.Tool) {
	for _, v := range r.retiring {
		r.retire(v)
	}
	r.retiring = nil
	for name, v := range r.fresh {
		r.replace(name, v, catalogue[name] != nil)
	}
	r.compareNames(catalogue)
	for name, tool := range r.live {
		if catalogue[name] != tool {
			delete(r.programs, tool)
		}
		if v := r.serving[name]; catalogue[name] == nil && v != nil {
			r.retiring = append(r.retiring, v)
			delete(r.serving, name)
		}
	}
	r.live = catalogue
}

// replace makes a version the one that serves. One that is no tool's own function is called by its alias.
func (r *round) replace(name string, v *served, isTool bool) {
	before := r.serving[name]
	if isTool {
		r.serving[name] = v
	} else if _, err := r.pointAt(v); err != nil {
		r.fault(name, err)
		return
	}
	// Only now, since what the alias still names must not end.
	if before != nil {
		r.retiring = append(r.retiring, before)
	}
	if r.pending[name] && !isTool {
		r.change.Renewed = append(r.change.Renewed, name)
	}
	delete(r.pending, name)
	slices.Sort(r.change.Renewed)
}

// compareNames notes which tools are other than before.
func (r *round) compareNames(catalogue map[string]*contract.Tool) {
	names := map[string]bool{}
	for name, tool := range catalogue {
		names[tool.Name] = true
		if tool != r.live[name] || r.fresh[name] != nil {
			r.change.Live = append(r.change.Live, tool.Name)
		}
	}
	for _, tool := range r.live {
		if !names[tool.Name] {
			r.change.Withdrawn = append(r.change.Withdrawn, tool.Name)
		}
	}
	slices.Sort(r.change.Live)
	slices.Sort(r.change.Withdrawn)
}

func byName(a, b *contract.Tool) int { return strings.Compare(a.Name, b.Name) }
