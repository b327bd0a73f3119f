package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"patchbay/scripts/operate"
	"patchbay/scripts/printable"
	"patchbay/shared/registry"
)

func catalogueCommand() *cobra.Command {
	var at where
	command := &cobra.Command{
		Use:   "catalogue",
		Short: "Show what the catalogue serves, roll a source of it back, or withdraw one",
	}
	at.flags(command)
	command.AddCommand(catalogueShowCommand(&at), catalogueRollbackCommand(&at), catalogueWithdrawCommand(&at))
	return command
}

func newPublisher(target *operate.Target) *registry.Publisher {
	return registry.NewPublisher(target.DB, target.Tables.Registry, registry.PublisherOptions{})
}

func catalogueShowCommand(at *where) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "show [SOURCE]",
		Short:   "Show the sources, their tools with function versions, and what they can be rolled back to",
		Example: "  patchbay catalogue show --deployment shop-prod",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			act := operate.Act{Lever: "catalogue show", On: strings.Join(args, "")}
			return at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, _ *operate.Act) error {
				shown, err := readCatalogue(ctx, newPublisher(target), args)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(cmd.OutOrStdout(), shown)
				}
				return shown.write(cmd.OutOrStdout())
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return command
}

// shownCatalogue is the catalogue as it is shown.
type shownCatalogue struct {
	Revision       int64         `json:"revision"`
	MaxCallSeconds int           `json:"maxCallSeconds"`
	Disabled       []string      `json:"disabled"`
	Sources        []shownSource `json:"sources"`
}

type shownSource struct {
	Source string          `json:"source"`
	Live   *shownSnapshot  `json:"live,omitempty"`
	Kept   []shownSnapshot `json:"kept"`
}

type shownSnapshot struct {
	ID         string     `json:"id"`
	Published  time.Time  `json:"published"`
	Superseded *time.Time `json:"superseded,omitempty"`
	By         string     `json:"by,omitempty"`
	Operator   string     `json:"operator,omitempty"`
	RollbackOf string     `json:"rollbackOf,omitempty"`
	Tools      []string   `json:"tools"`
	// Functions are the tools' qualified ARNs by name, of what is live.
	Functions map[string]string `json:"functions,omitempty"`
}

// readCatalogue reads the catalogue, or one source of it.
func readCatalogue(ctx context.Context, publisher *registry.Publisher, sources []string) (shownCatalogue, error) {
	history, err := publisher.History(ctx)
	if err != nil {
		return shownCatalogue{}, err
	}
	if len(sources) > 0 {
		one, err := findSource(history, sources[0])
		if err != nil {
			return shownCatalogue{}, err
		}
		history.Sources = []registry.SourceHistory{one}
	}
	shown := shownCatalogue{
		Revision: history.Revision, MaxCallSeconds: history.Settings.MaxCallSeconds,
		Disabled: slices.Clip(append([]string{}, history.Disabled...)), Sources: []shownSource{},
	}
	for _, source := range history.Sources {
		one, err := readSource(ctx, publisher, source)
		if err != nil {
			return shownCatalogue{}, err
		}
		shown.Sources = append(shown.Sources, one)
	}
	return shown, nil
}

func readSource(
	ctx context.Context, publisher *registry.Publisher, source registry.SourceHistory,
) (shownSource, error) {
	shown := shownSource{Source: source.Source, Kept: []shownSnapshot{}}
	for _, kept := range source.Kept {
		shown.Kept = append(shown.Kept, newShownSnapshot(kept))
	}
	if source.Live == nil {
		return shown, nil
	}
	live := newShownSnapshot(*source.Live)
	tools, err := publisher.Contents(ctx, source.Source, source.Live.ID)
	if err != nil {
		return shownSource{}, err
	}
	live.Functions = functionsOf(tools)
	shown.Live = &live
	return shown, nil
}

func newShownSnapshot(s registry.Snapshot) shownSnapshot {
	shown := shownSnapshot{
		ID: s.ID, Published: s.Published, By: s.By, Operator: s.Operator, RollbackOf: s.RollbackOf, Tools: s.Tools,
	}
	if !s.Superseded.IsZero() {
		shown.Superseded = &s.Superseded
	}
	return shown
}

// functionsOf maps tools to their functions.
func functionsOf(tools []registry.Publication) map[string]string {
	functions := make(map[string]string, len(tools))
	for _, tool := range tools {
		functions[tool.Tool.Name] = tool.Function
	}
	return functions
}

// findSource finds a source by its name, or by that of its stack, which the stack's id holds.
func findSource(history registry.History, name string) (registry.SourceHistory, error) {
	var found []registry.SourceHistory
	var names []string
	for _, source := range history.Sources {
		if source.Source == name {
			return source, nil
		}
		if strings.Contains(source.Source, ":stack/"+name+"/") {
			found = append(found, source)
		}
		names = append(names, source.Source)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return registry.SourceHistory{}, fmt.Errorf("%q is not one source, or one stack, of the catalogue; there are: %s",
		name, strings.Join(names, ", "))
}

func (c shownCatalogue) write(out io.Writer) error {
	w := bufio.NewWriter(out)
	say(w, "revision %d, longest call %d s", c.Revision, c.MaxCallSeconds)
	if len(c.Disabled) > 0 {
		say(w, "disabled: %s", strings.Join(c.Disabled, ", "))
	}
	for _, source := range c.Sources {
		fmt.Fprintln(w)
		say(w, "source %s", source.Source)
		source.write(w, c.Disabled)
	}
	return w.Flush()
}

// say writes one line of what others have published.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, printable.Line(fmt.Sprintf(format, args...)))
}

func (s shownSource) write(w io.Writer, disabled []string) {
	if s.Live == nil {
		say(w, "  withdrawn: it serves nothing")
	} else {
		say(w, "  live %s", s.Live)
		for _, name := range s.Live.Tools {
			note := ""
			if slices.Contains(disabled, name) {
				note = "  (disabled)"
			}
			say(w, "    %-40s %s%s", name, s.Live.Functions[name], note)
		}
	}
	for _, kept := range s.Kept {
		say(w, "  kept %s", kept)
	}
}

// String is a snapshot in one line.
func (s shownSnapshot) String() string {
	text := fmt.Sprintf("%s  published %s", s.ID, s.Published.UTC().Format(time.RFC3339))
	if s.Superseded != nil {
		text += ", superseded " + s.Superseded.UTC().Format(time.RFC3339)
	}
	if s.By != "" {
		text += ", by " + s.By
	}
	if s.Operator != "" {
		text += ", by operator " + s.Operator
	}
	if s.RollbackOf != "" {
		text += ", a rollback to " + s.RollbackOf
	}
	return fmt.Sprintf("%s, %d tools", text, len(s.Tools))
}

func catalogueRollbackCommand(at *where) *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use:   "rollback SOURCE [SNAPSHOT]",
		Short: "Serve again what a source published before",
		Long: `Publishes the contents of a snapshot that the source has superseded, the last one when none is named, after
looking whether every function version in it still exists. The code is that of then, too: an entry names a version. It
lasts until the source is deployed again. SOURCE is as "catalogue show" says it, or the name of the stack in it.`,
		Example: "  patchbay catalogue rollback shop-prod --deployment shop-prod",
		Args:    takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			act := operate.Act{Lever: "catalogue rollback", On: args[0], Details: map[string]string{}}
			return at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, act *operate.Act) error {
				plan, err := planRollback(ctx, target, args)
				if err != nil {
					return err
				}
				act.On, act.Details["snapshot"] = plan.source, plan.to.ID
				if err := plan.write(cmd.OutOrStdout()); err != nil {
					return err
				}
				if !yes {
					if err := confirm(cmd, "Roll back?"); err != nil {
						return err
					}
				}
				// The operator's time to think is not the lever's.
				ctx, cancel := context.WithTimeout(cmd.Context(), leverWait)
				defer cancel()
				return plan.run(ctx, target, act, cmd.OutOrStdout())
			})
		},
	}
	command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return command
}

// rollback is what is about to be done.
type rollback struct {
	source   string
	from, to registry.Snapshot
	// now and then are the functions of the tools that are live and that would be.
	now, then map[string]string
	// unknown are functions that may exist or not.
	unknown []string
}

// planRollback finds what to roll back to, and refuses what would serve tools without functions.
func planRollback(ctx context.Context, target *operate.Target, args []string) (rollback, error) {
	publisher := newPublisher(target)
	history, err := publisher.History(ctx)
	if err != nil {
		return rollback{}, err
	}
	source, err := findSource(history, args[0])
	if err != nil {
		return rollback{}, err
	}
	if source.Live == nil {
		return rollback{}, fmt.Errorf("%s was withdrawn: deploy it again instead", source.Source)
	}
	plan := rollback{source: source.Source, from: *source.Live}
	if plan.to, err = choose(source, args[1:]); err != nil {
		return rollback{}, err
	}
	live, err := publisher.Contents(ctx, plan.source, plan.from.ID)
	if err != nil {
		return rollback{}, err
	}
	tools, err := publisher.Contents(ctx, plan.source, plan.to.ID)
	if err != nil {
		return rollback{}, err
	}
	plan.now, plan.then = functionsOf(live), functionsOf(tools)
	missing, unknown, err := target.MissingFunctions(ctx, slices.Collect(maps.Values(plan.then)))
	if err != nil {
		return rollback{}, err
	}
	plan.unknown = unknown
	if len(missing) > 0 {
		return rollback{}, fmt.Errorf("snapshot %s cannot be served: Lambda does not have %s any more; nothing was changed",
			plan.to.ID, strings.Join(missing, ", "))
	}
	return plan, nil
}

// choose returns the snapshot that is named, or the one that was superseded last.
func choose(source registry.SourceHistory, named []string) (registry.Snapshot, error) {
	if len(source.Kept) == 0 {
		return registry.Snapshot{}, fmt.Errorf("%s has no snapshot to roll back to: superseded ones are kept for a day",
			source.Source)
	}
	if len(named) == 0 {
		return source.Kept[0], nil
	}
	for _, kept := range source.Kept {
		if kept.ID == named[0] {
			return kept, nil
		}
	}
	return registry.Snapshot{}, fmt.Errorf("%s has no snapshot %s to roll back to; `catalogue show` lists those that are "+
		"kept", source.Source, named[0])
}

// write says what would change.
func (r rollback) write(out io.Writer) error {
	w := bufio.NewWriter(out)
	say(w, "source   %s", r.source)
	say(w, "serves   %s", newShownSnapshot(r.from))
	say(w, "would be %s", newShownSnapshot(r.to))
	for _, name := range slices.Sorted(maps.Keys(r.now)) {
		if _, stays := r.then[name]; !stays {
			say(w, "  - %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.then)) {
		switch now, there := r.now[name]; {
		case !there:
			say(w, "  + %s  %s", name, r.then[name])
		case now != r.then[name]:
			say(w, "  ~ %s  %s → %s", name, now, r.then[name])
		}
	}
	if len(r.unknown) > 0 {
		say(w, "not checked, since you may not ask: %s", strings.Join(r.unknown, ", "))
	}
	return w.Flush()
}

func (r rollback) run(ctx context.Context, target *operate.Target, act *operate.Act, out io.Writer) error {
	receipt, err := newPublisher(target).Rollback(ctx, r.source, r.to.ID, registry.Order{Operator: target.Operator()})
	if err != nil {
		return err
	}
	act.Details["published"] = receipt.Snapshot
	_, err = fmt.Fprintf(out, "done, as snapshot %s; within 10 seconds every instance goes by it. The next deployment of "+
		"the source publishes its own contents again.\n", receipt.Snapshot)
	return err
}

func catalogueWithdrawCommand(at *where) *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use:   "withdraw SOURCE",
		Short: "Take a source that nobody can delete any more out of the catalogue",
		Long: `Takes all tools of a source out of the catalogue and frees their names and functions. It is for an orphan:
what a stack that is gone has left, or a stack that serves what is not its own. A stack that exists withdraws its tools
when it is deleted; until then its next deployment publishes them again. Function versions that only this source named
are deleted with its snapshots, a day later. SOURCE is as "catalogue show" says it, or the name of the stack in it.`,
		Example: "  patchbay catalogue withdraw shipping-tools --deployment shop-prod",
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			act := operate.Act{Lever: "catalogue withdraw", On: args[0], Details: map[string]string{}}
			return at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, act *operate.Act) error {
				plan, err := planWithdrawal(ctx, target, args[0])
				if err != nil {
					return err
				}
				act.On, act.Details["snapshot"] = plan.source, plan.live.ID
				if err := plan.write(cmd.OutOrStdout()); err != nil {
					return err
				}
				if !yes {
					if err := confirm(cmd, "Withdraw?"); err != nil {
						return err
					}
				}
				// The operator's time to think is not the lever's.
				ctx, cancel := context.WithTimeout(cmd.Context(), leverWait)
				defer cancel()
				return plan.run(ctx, target, cmd.OutOrStdout())
			})
		},
	}
	command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return command
}

// withdrawal is what is about to be done.
type withdrawal struct {
	source string
	live   registry.Snapshot
}

func planWithdrawal(ctx context.Context, target *operate.Target, name string) (withdrawal, error) {
	history, err := newPublisher(target).History(ctx)
	if err != nil {
		return withdrawal{}, err
	}
	source, err := findSource(history, name)
	if err != nil {
		return withdrawal{}, err
	}
	if source.Live == nil {
		return withdrawal{}, fmt.Errorf("%s was withdrawn already: it serves nothing", source.Source)
	}
	return withdrawal{source: source.Source, live: *source.Live}, nil
}

// write says what would change.
func (d withdrawal) write(out io.Writer) error {
	w := bufio.NewWriter(out)
	say(w, "source   %s", d.source)
	say(w, "serves   %s", newShownSnapshot(d.live))
	for _, name := range d.live.Tools {
		say(w, "  - %s", name)
	}
	return w.Flush()
}

func (d withdrawal) run(ctx context.Context, target *operate.Target, out io.Writer) error {
	if err := newPublisher(target).WithdrawLive(ctx, d.source, d.live.ID); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "done: tools withdrawn: %d; within 10 seconds every instance goes by it. If the source's "+
		"stack exists, its next deployment publishes them again.\n", len(d.live.Tools))
	return err
}

// errNotConfirmed means that the operator did not say yes.
var errNotConfirmed = errors.New("not confirmed, nothing was changed; answer yes, or give --yes")

func confirm(cmd *cobra.Command, question string) error {
	fmt.Fprintf(cmd.OutOrStdout(), "%s (yes/no) ", question)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if strings.TrimSpace(strings.ToLower(answer)) != "yes" {
		return errNotConfirmed
	}
	return nil
}
