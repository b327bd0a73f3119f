package toolcall

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"patchbay/shared/contract"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/seal"
)

// confirmationKey is the key of the dispatcher's own input request.
const confirmationKey = "patchbay_confirmation"

// confirmationForm is what a person fills in. The answer "accept" with the box left empty is no consent.
var confirmationForm = json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean","title":"Do it",` +
	`"description":"Tick to let this call run, with exactly these arguments, once.","default":false}},` +
	`"required":["confirm"]}`)

// askConfirmation asks a person, through the client, whether the call may run. It writes nothing down: the question
// comes back inside requestState, bound to these arguments.
func (c *call) askConfirmation(ctx context.Context) (reply, error) {
	name := c.entry.Tool.Name
	if !c.Modern {
		return c.toolError(outcomeCannotAsk, "%s runs only after a person has confirmed it. This client speaks revision %s "+
			"of MCP, over which a stateless server cannot ask; a client of revision %s can confirm it. Nothing has run.",
			name, c.ProtocolVersion, mcp.Version20260728), nil
	}
	required := capabilities{}
	required.need("elicitation", "form")
	if missing := required.missingFrom(c.Params.Meta.ClientCapabilities); missing != nil {
		return nil, c.refuse(outcomeCapability, mcp.MissingCapability(missing))
	}
	message, err := confirmationText(c.entry.Tool, c.arguments)
	if err != nil {
		return nil, c.defect(fmt.Errorf("writing the confirmation of %s: %w", name, err))
	}
	binding, err := c.binding()
	if err != nil {
		return c.toolError(outcomeInvalid, "The call of %s cannot be confirmed: %s", name, err), nil
	}
	sealed, err := c.Sealer.Seal(ctx, binding, seal.State{
		Kind: seal.KindConfirmation, Key: c.key, Expires: c.now().Add(roundLifetime),
		Asked: map[string]seal.Asked{confirmationKey: {Method: methodElicit, Schema: confirmationForm}},
	})
	if err != nil {
		return nil, c.defect(fmt.Errorf("sealing a confirmation of %s: %w", name, err))
	}
	requests, err := json.Marshal(map[string]any{confirmationKey: map[string]any{
		"method": methodElicit,
		"params": map[string]any{"mode": "form", "message": message, "requestedSchema": confirmationForm},
	}})
	if err != nil {
		return nil, c.defect(fmt.Errorf("encoding a confirmation of %s: %w", name, err))
	}
	c.outcome = outcomeAsks
	return inputRequired(requests, sealed), nil
}

// readConfirmation takes the person's answer from a confirmation that came back. No usable answer leaves the call
// unconfirmed, so that it is asked again; a refusal ends it.
func (c *call) readConfirmation(state seal.State, responses json.RawMessage) reply {
	var answers map[string]struct {
		Action  string `json:"action"`
		Content struct {
			Confirm bool `json:"confirm"`
		} `json:"content"`
	}
	if json.Unmarshal(responses, &answers) != nil {
		return nil
	}
	answer, given := answers[confirmationKey]
	switch {
	case !given:
		return nil
	case answer.Action == "accept" && answer.Content.Confirm:
		c.confirmed = true
		if c.key == "" {
			c.key = kindConfirmation + state.Nonce
		}
		return nil
	case answer.Action == "cancel":
		return c.toolError(outcomeDeclined, "The question whether %s may run was closed without an answer. Nothing has run.",
			c.entry.Tool.Name)
	}
	return c.toolError(outcomeDeclined, "The user declined to let %s run. Nothing has run; do not try again unless "+
		"asked to.", c.entry.Tool.Name)
}

// longestShown is how much of one argument a confirmation shows, in characters: enough to recognize it.
const longestShown = 300

// confirmationText says what is about to happen, for the person who decides.
func confirmationText(tool *contract.Tool, arguments json.RawMessage) (string, error) {
	secret, err := secretArguments(tool.Input)
	if err != nil {
		return "", err
	}
	members, err := jsonrpc.Members(arguments)
	if err != nil {
		return "", err
	}
	title := tool.Title
	if title == "" {
		title = tool.Name
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Let %q run? Risk: %s.\n", title, tool.Contract.Risk)
	if len(members) > 0 {
		b.WriteString("\nWith these arguments:\n")
	}
	for _, m := range members {
		fmt.Fprintf(&b, "- %s: %s\n", m.Key, shownValue(m.Value, secret[m.Key]))
	}
	if len(tool.Contract.SideEffects) > 0 {
		b.WriteString("\nWhat it does:\n")
	}
	for _, effect := range tool.Contract.SideEffects {
		fmt.Fprintf(&b, "- %s\n", effect)
	}
	return b.String(), nil
}

// shownValue is an argument for a person's eyes: text without quotes, everything on one line and free of control
// characters that could disguise it, long values cut with their length, secrets not at all.
func shownValue(value json.RawMessage, secret bool) string {
	if secret {
		return "(secret, not shown)"
	}
	text := string(value)
	var plain string
	if json.Unmarshal(value, &plain) == nil && value[0] == '"' {
		text = plain
	}
	text = strings.Map(visible, strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\t", " ").Replace(text))
	runes := []rune(text)
	if len(runes) <= longestShown {
		return text
	}
	return fmt.Sprintf("%s… (%d characters in all)", string(runes[:longestShown]), len(runes))
}

// visible drops what changes how a line looks without being seen: control characters, and the marks that reverse the
// direction of text (Unicode Standard Annex 9).
func visible(r rune) rune {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f,
		r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
		return -1
	}
	return r
}
