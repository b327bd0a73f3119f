package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"patchbay/dispatcher/registrar/order"
	"patchbay/scripts/operate"
	"patchbay/scripts/printable"
)

// toolPublish is what the command line of `tool publish` says.
type toolPublish struct {
	at                           where
	source                       string
	functions                    []string
	replace, dryRun, yes, asJSON bool
}

func toolPublishCommand() *cobra.Command {
	var p toolPublish
	command := &cobra.Command{
		Use:   "publish FOLDER|FILE...",
		Short: "Publish tools for functions that exist already, without a deploy",
		Long: `Publishes contracts, not code: each FOLDER has a tool.json, each FILE is one, and its function exists already,
in whatever language. The contract names the function under contract.function.arn, with a version or an alias, or
--function does. On the local stack that is running, local:NAME is the function of that name in the folder of
"local --existing".

--source says who publishes, as maps-team. A name or a function that one source has, no other source can publish. The
tools that are given are published beside the others of the source, which stay as they are; with --replace they are all
that it has then. "catalogue withdraw SOURCE" takes all of them away, "catalogue rollback SOURCE" brings back what was
there before.

First it says what would change, and asks. The server's registrar checks before that whether the contracts are right,
the functions exist and do not run for longer than the contracts say, the server may call them, and nobody else has the
names. --dry-run ends there.

On AWS it needs the policy <deployment>-tool-publish, and nothing else.`,
		Example: `  patchbay tool publish legacy/order_status --source maps-team
  patchbay tool publish legacy/order_status --source maps-team --deployment shop-prod \
    --function arn:aws:lambda:eu-west-1:111111111111:function:order-status:live
  patchbay tool publish legacy/* --source maps-team --replace --dry-run`,
		Args: takes(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.check(); err != nil {
				return usageError{err}
			}
			return p.run(cmd, args)
		},
	}
	p.at.flags(command)
	flags := command.Flags()
	flags.StringVar(&p.source, "source", "", "who publishes, 1 to 63 of a-z 0-9 -, a letter first; required")
	flags.StringArrayVar(&p.functions, "function", nil, "the function of the tool, its ARN with a version or an alias; "+
		"of several tools NAME=ARN, repeated")
	flags.BoolVar(&p.replace, "replace", false, "withdraw the source's other tools")
	flags.BoolVar(&p.dryRun, "dry-run", false, "only check, and say what would change")
	flags.BoolVar(&p.yes, "yes", false, "do not ask")
	flags.BoolVar(&p.asJSON, "json", false, "write JSON; with --dry-run or --yes, since nothing is asked then")
	return command
}

// check refuses what does not go together.
func (p *toolPublish) check() error {
	if p.source == "" {
		return errors.New("--source is missing: say who publishes, as in --source maps-team")
	}
	if err := order.CheckSource(p.source); err != nil {
		return fmt.Errorf("--source: %w", err)
	}
	if p.asJSON && !p.dryRun && !p.yes {
		return errors.New("--json asks nothing; give --dry-run or --yes with it")
	}
	return nil
}

func (p *toolPublish) run(cmd *cobra.Command, args []string) error {
	contracts, err := readContracts(args)
	if err != nil {
		return err
	}
	for _, warning := range contracts.warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), printable.Lines(warning.String(), "  "))
	}
	tools, err := p.bind(contracts)
	if err != nil {
		return err
	}
	act := operate.Act{Lever: "tool publish", On: p.source, Details: map[string]string{}}
	if p.dryRun {
		act.Details["dryRun"] = "true"
	}
	return p.at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, act *operate.Act) error {
		return p.publish(ctx, cmd, target, act, tools)
	})
}

// publish shows what would change, asks, and publishes exactly that.
func (p *toolPublish) publish(
	ctx context.Context, cmd *cobra.Command, target *operate.Target, act *operate.Act, tools []order.Tool,
) error {
	ordered := order.Order{Source: p.source, Tools: tools, Replace: p.replace}
	plan, err := p.take(ctx, target, ordered)
	if err != nil {
		return err
	}
	act.Details["changes"] = strings.Join(changedNames(plan), " ")
	if !p.asJSON {
		if err := writePlan(cmd.OutOrStdout(), target.Name, p.source, plan, filesOf(tools)); err != nil {
			return err
		}
	}
	if p.dryRun || len(plan.Changes) == 0 {
		return p.finish(cmd, plan)
	}
	if !p.yes {
		if err := confirm(cmd, "Publish?"); err != nil {
			return err
		}
	}
	// The operator's time to think is not the lever's.
	ctx, cancel := context.WithTimeout(cmd.Context(), leverWait)
	defer cancel()
	ordered.Publish, ordered.Live, ordered.Request = true, plan.Live, rand.Text()
	done, err := p.take(ctx, target, ordered)
	if err != nil {
		return err
	}
	act.Details["snapshot"] = done.Snapshot
	plan.Snapshot = done.Snapshot
	return p.finish(cmd, plan)
}

// take has the registrar take an order; what it refuses is an error.
func (p *toolPublish) take(ctx context.Context, target *operate.Target, ordered order.Order) (order.Answer, error) {
	answer, err := target.Order(ctx, ordered)
	if err == nil && answer.Refused != "" {
		err = fmt.Errorf("nothing was published:\n%s", answer.Refused)
	}
	return answer, err
}

// finish says what came of it.
func (p *toolPublish) finish(cmd *cobra.Command, plan order.Answer) error {
	if p.asJSON {
		return writeJSON(cmd.OutOrStdout(), newPublished(p.source, plan))
	}
	out := cmd.OutOrStdout()
	switch {
	case len(plan.Changes) == 0:
		say(out, "nothing changes: %s serves this already", p.source)
	case p.dryRun:
		say(out, "nothing was published: this was a dry run")
	default:
		say(out, "published as snapshot %s; within 10 seconds every instance goes by it", plan.Snapshot)
	}
	return nil
}
