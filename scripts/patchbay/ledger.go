package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"patchbay/scripts/operate"
	"patchbay/scripts/printable"
	"patchbay/shared/contract"
	"patchbay/shared/ledger"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
)

// ledgerRecord names a record, by its id or by what the id is made from.
type ledgerRecord struct {
	tool, principal string
}

func ledgerCommand() *cobra.Command {
	var at where
	var of ledgerRecord
	command := &cobra.Command{
		Use:   "ledger",
		Short: "Show or resolve the record of a call that must run only once",
		Long: `A record is named by its id, which the call's audit record says in "record", or by the key that the caller
gave, with --tool and --principal, which the call's log line says in "principal".`,
	}
	at.flags(command)
	flags := command.PersistentFlags()
	flags.StringVar(&of.tool, "tool", "", "the tool, when the record is named by its key")
	flags.StringVar(&of.principal, "principal", principal.Principal{}.Key(),
		"the caller as in the log, when the record is named by its key")
	command.AddCommand(ledgerShowCommand(&at, &of), ledgerResolveCommand(&at, &of))
	return command
}

// id is the record's, from the command's argument.
func (r *ledgerRecord) id(argument string) (ledger.ID, error) {
	if id, err := ledger.ParseID(argument); err == nil && r.tool == "" {
		return id, nil
	}
	if r.tool == "" {
		return ledger.ID{}, fmt.Errorf("%.80q is no record id, which has 64 hexadecimal digits; if it is a key, name the "+
			"tool with --tool, and the caller with --principal", argument)
	}
	if err := ledger.CheckKey(argument); err != nil {
		return ledger.ID{}, err
	}
	if err := principal.CheckKey(r.principal); err != nil {
		return ledger.ID{}, fmt.Errorf("--principal, which the call's log line says in \"principal\": %w", err)
	}
	return ledger.NewID(r.principal, r.tool, ledger.CallerKey(argument)), nil
}

// absent says why there is no record of an id. That it was not found is no proof that a call runs, when what the id was
// made from is not what a call is recorded by.
func (r *ledgerRecord) absent(ctx context.Context, target *operate.Target, id ledger.ID) error {
	if r.tool == "" {
		return fmt.Errorf("there is no record %s, or it has ended", id)
	}
	publisher := newPublisher(target)
	tool, err := publisher.Find(ctx, r.tool)
	if errors.Is(err, registry.ErrUnknownTool) {
		return fmt.Errorf("no source publishes a tool %.128q; %s. A record of a tool that is not published any more is "+
			"named by its id", r.tool, whichTool(ctx, publisher, r.tool))
	}
	if err != nil {
		return fmt.Errorf("there is no record %s, and whether the tool keeps any could not be read: %w", id, err)
	}
	rules := &tool.Contract
	switch {
	case !rules.Recorded():
		return fmt.Errorf("%s keeps no records: by its contract every call runs", tool.Name)
	case rules.Idempotency.Mode == contract.IdempotencyArguments:
		return fmt.Errorf("there is no record of this key: this tool's key is made of its arguments, unless the caller "+
			"gives one; use the record id, which the audit record of a call of %s says in \"record\"", tool.Name)
	case rules.Idempotency.Mode != contract.IdempotencyKey:
		return fmt.Errorf("there is no record of this key: a call of %s is recorded by its confirmation or its dry run, "+
			"unless the caller gives a key; use the record id, which its audit record says in \"record\"", tool.Name)
	}
	return fmt.Errorf("there is no record %s, or it has ended: a call of %s by %s with this key runs", id, tool.Name,
		r.principal)
}

func ledgerShowCommand(at *where, of *ledgerRecord) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "show ID|KEY",
		Short: "Show a call's record: its state, who called, and what it answered",
		Example: "  patchbay ledger show 5f0c…e1 --deployment shop-prod\n" +
			"  patchbay ledger show order-4711 --tool emails.send_external --principal '0::sub:ada'",
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := of.id(args[0])
			if err != nil {
				return err
			}
			act := operate.Act{Lever: "ledger show", On: id.String()}
			return at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, _ *operate.Act) error {
				entry, err := newLedger(target).Show(ctx, id)
				if err != nil {
					return err
				}
				if entry == nil {
					return of.absent(ctx, target, id)
				}
				if asJSON {
					return writeJSON(cmd.OutOrStdout(), newLedgerEntry(id, entry))
				}
				return newLedgerEntry(id, entry).write(cmd.OutOrStdout(), time.Now())
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return command
}

func newLedger(target *operate.Target) *ledger.Ledger {
	return ledger.New(target.DB, target.Tables.Ledger, ledger.Options{})
}

// ledgerEntry is a record as it is shown.
type ledgerEntry struct {
	ID          string          `json:"id"`
	State       string          `json:"state"`
	Owner       string          `json:"owner"`
	Digest      string          `json:"arguments"`
	Idempotent  bool            `json:"idempotent"`
	LeaseUntil  time.Time       `json:"leaseUntil"`
	ReplayUntil *time.Time      `json:"replayUntil,omitempty"`
	Ends        time.Time       `json:"ends"`
	Audit       json.RawMessage `json:"audit,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
}

func newLedgerEntry(id ledger.ID, entry *ledger.Entry) ledgerEntry {
	shown := ledgerEntry{
		ID: id.String(), State: entry.State, Owner: entry.Owner, Digest: hex.EncodeToString(entry.Digest[:]),
		Idempotent: entry.Idempotent, LeaseUntil: entry.LeaseUntil.UTC(), Ends: entry.Ends.UTC(),
		Audit: asRaw(entry.Audit), Result: asRaw(entry.Result),
	}
	if !entry.ReplayUntil.IsZero() {
		until := entry.ReplayUntil.UTC()
		shown.ReplayUntil = &until
	}
	return shown
}

// asRaw is stored text as JSON, also when it is none.
func asRaw(text []byte) json.RawMessage {
	if len(text) == 0 || json.Valid(text) {
		return text
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		panic("encoding a string: " + err.Error())
	}
	return quoted
}

func (e ledgerEntry) write(out io.Writer, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name string, value any) { fmt.Fprintf(table, "%s\t%v\n", name, value) }
	line("record", e.ID)
	line("state", printable.Line(e.State)+e.meaning(now))
	line("owner", printable.Line(e.Owner))
	line("arguments", "SHA-256 "+e.Digest)
	line("idempotent", e.Idempotent)
	line("lease until", e.LeaseUntil.Format(time.RFC3339))
	if e.ReplayUntil != nil {
		line("replayed until", e.ReplayUntil.Format(time.RFC3339))
	}
	line("ends", e.Ends.Format(time.RFC3339))
	if len(e.Audit) > 0 {
		line("audit", inOneLine(e.Audit))
	}
	if len(e.Result) > 0 {
		line("result", inOneLine(e.Result))
	}
	return table.Flush()
}

// inOneLine is JSON that callers and tools wrote, in a line that can be copied as JSON.
func inOneLine(text json.RawMessage) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return string(text)
	}
	return string(printable.JSON(compact.Bytes()))
}

// meaning says what a state means for the call.
func (e ledgerEntry) meaning(now time.Time) string {
	switch {
	case e.State == "completed":
		return ": a repeat gets the result below"
	case e.State == "leased" && now.Before(e.LeaseUntil):
		return ": the call is running, or its instance has died; its lease runs out at the time below"
	case e.State == "leased" && len(e.Result) > 0:
		return ": the lease ran out over a stored result, which a repeat gets"
	case e.Idempotent:
		return ": nobody knows how the call ended; a repeat runs it again, since the tool is idempotent"
	}
	return ": nobody knows how the call ended; a repeat is refused until the record ends, or `ledger resolve`"
}

// resolution is what an operator found out.
type resolution struct {
	file string
	free bool
}

func ledgerResolveCommand(at *where, of *ledgerRecord) *cobra.Command {
	var found resolution
	command := &cobra.Command{
		Use:   "resolve ID|KEY --result FILE | --free",
		Short: "Say how a call ended whose outcome is unknown",
		Long: `Find out first what the call has done, in the system that it acts on. Then either --result: the call is
answered from now on with that result, a CallToolResult as JSON; or --free: it has done nothing, and may run again. A
record in any other state than unknown is left alone.`,
		Example: `  echo '{"content":[{"type":"text","text":"Sent at 10:04."}]}' > sent.json
  patchbay ledger resolve 5f0c…e1 --result sent.json --deployment shop-prod
  patchbay ledger resolve 5f0c…e1 --free --deployment shop-prod`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := of.id(args[0])
			if err != nil {
				return err
			}
			result, err := found.result()
			if err != nil {
				return err
			}
			act := operate.Act{Lever: "ledger resolve", On: id.String(), Details: map[string]string{"to": found.word()}}
			return at.act(cmd.Context(), act, func(ctx context.Context, target *operate.Target, _ *operate.Act) error {
				met, err := newLedger(target).Resolve(ctx, id, ledger.Resolution{Result: result})
				if errors.Is(err, ledger.ErrNotUnknown) && met.Status == ledger.Free {
					return fmt.Errorf("%w; %w", err, of.absent(ctx, target, id))
				}
				if err != nil {
					return err
				}
				return sayResolved(cmd.OutOrStdout(), id, met)
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&found.file, "result", "", "the file with the result that the call is answered with; - is standard "+
		"input")
	flags.BoolVar(&found.free, "free", false, "the call has done nothing, and may run")
	command.MarkFlagsOneRequired("result", "free")
	command.MarkFlagsMutuallyExclusive("result", "free")
	return command
}

func (r resolution) word() string {
	if r.free {
		return "free"
	}
	return "result"
}

// result reads and checks the result; nil to free the key.
func (r resolution) result() ([]byte, error) {
	if r.free {
		return nil, nil
	}
	data, err := readFile(r.file)
	if err != nil {
		return nil, fmt.Errorf("reading the result: %w", err)
	}
	var result struct {
		Content []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(data, &result); err != nil {
		return nil, fmt.Errorf("reading the result: %s must hold one JSON object: %w", r.file, err)
	}
	if result.Content == nil {
		return nil, errors.New(`the result has no "content"; a CallToolResult looks like ` +
			`{"content":[{"type":"text","text":"…"}]}, with "structuredContent" where the tool has an outputSchema`)
	}
	return data, nil
}

func readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

func sayResolved(out io.Writer, id ledger.ID, record ledger.Record) error {
	text := fmt.Sprintf("%s is free: the call may run", id)
	if record.Status == ledger.Completed {
		text = fmt.Sprintf("%s is completed: until %s a repeat gets that result", id,
			record.Ends.UTC().Format(time.RFC3339))
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
