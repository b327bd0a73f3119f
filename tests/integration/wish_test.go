package integration

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"patchbay/shared/contract"
	"patchbay/shared/ledger"
	"patchbay/shared/principal"
	"patchbay/shared/seal"
)

// wish is one thing that a client wants done once by a counting tool, however often it sends the call for it.
type wish struct {
	url, tool string
	// dir holds the file that counts the effects and the gates of the tool.
	dir       string
	arguments map[string]any
	// key is the idempotency key, and bearer the caller's token; each empty for none. params are further members of the
	// call's parameters.
	key, bearer string
	params      map[string]any
	// token is in the requests to DynamoDB that belong to the wish.
	token string
}

// newWish makes a wish with arguments, and so with a record, that no other has. A gated one stops at the tool's gates.
func newWish(t *testing.T, s *countingStack, tool string, gated bool) *wish {
	t.Helper()
	w := &wish{url: s.URL, tool: tool, dir: t.TempDir()}
	w.arguments = map[string]any{"file": w.path("count")}
	if gated {
		w.arguments["gate"] = w.path("gate")
	}
	return w
}

// keyed gives the wish an idempotency key.
func (w *wish) keyed() *wish {
	w.key = w.dir
	w.token = recordID(w.tool, "key:"+w.key)
	return w
}

// confirmed asks for the confirmation of the wish and consents to it.
func (w *wish) confirmed(t *testing.T, s *countingStack) *wish {
	t.Helper()
	asked := w.settle(t)
	if asked.kind != asks {
		t.Fatalf("%s does not ask for a confirmation: %+v", w.tool, asked)
	}
	w.params = consent(asked.state)
	state, err := sealer(s).Open(t.Context(), asked.state, w.binding(t), seal.KindConfirmation)
	if err != nil {
		t.Fatalf("opening %s: %v", asked.state, err)
	}
	w.token = recordID(w.tool, "confirmation:"+state.Nonce)
	return w
}

// consent is the answer of a person who lets a call run.
func consent(state string) map[string]any {
	accepted := map[string]any{"action": "accept", "content": map[string]any{"confirm": true}}
	return map[string]any{"requestState": state, "inputResponses": map[string]any{"patchbay_confirmation": accepted}}
}

// rehearsed makes the dry run that the wish needs.
func (w *wish) rehearsed(t *testing.T) *wish {
	t.Helper()
	w.arguments["dryRun"] = true
	if got := w.settle(t); got.kind != done {
		t.Fatalf("the dry run: %+v", got)
	}
	delete(w.arguments, "dryRun")
	digest := w.binding(t).Arguments
	w.token = recordID(w.tool, "dry run:"+hex.EncodeToString(digest))
	return w
}

// recordID is what the ledger keeps an anonymous caller's call under.
func recordID(tool, key string) string {
	return ledger.NewID(principal.Principal{}.Key(), tool, key).String()
}

func sealer(s *countingStack) *seal.Sealer { return seal.New(seal.File(s.sealKeys()), seal.Options{}) }

// sealKeys is the file with the keys of requestState.
func (s *countingStack) sealKeys() string { return filepath.Join(s.data, "seal-keys.json") }

// binding is what a requestState of the wish is bound to.
func (w *wish) binding(t *testing.T) seal.Binding {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("effects", w.tool, "tool.json"))
	if err != nil {
		t.Fatal(err)
	}
	tool, problems := contract.Parse("tool.json", data)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	arguments, err := json.Marshal(w.arguments)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := ledger.Digest(arguments)
	if err != nil {
		t.Fatal(err)
	}
	rules := tool.Digest()
	return seal.Binding{Tool: w.tool, Arguments: digest[:], Contract: rules[:]}
}

func (w *wish) path(name string) string { return filepath.Join(w.dir, name) }

// open opens a gate of the tool.
func (w *wish) open(t *testing.T, gate string) {
	t.Helper()
	if err := os.WriteFile(w.path("gate."+gate), nil, 0o600); err != nil {
		t.Error(err)
	}
}

// effects returns the lines that the tool has written: its own count.
func (w *wish) effects(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(w.path("count"))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return strings.Fields(string(data))
}

// kind is how a call was answered.
type kind string

const (
	done     kind = "done"      // a result
	failed   kind = "failed"    // a tool error
	running  kind = "running"   // a tool error: an earlier call with the key runs
	unknown  kind = "unknown"   // a tool error: nobody knows how an earlier one ended
	asks     kind = "asks"      // a confirmation is asked for
	refused  kind = "refused"   // a JSON-RPC error
	noAnswer kind = "no answer" // the gateway's own answer, for a dispatcher that died
)

// outcome is the answer to one sending of a wish.
type outcome struct {
	kind     kind
	id       string
	status   int
	code     int
	text     string
	replayed bool
	state    string
	// raw is the answer without its id and the mark of a replay.
	raw string
}

func (o outcome) String() string {
	return fmt.Sprintf("%s: status %d, code %d, replayed %t: %s", o.kind, o.status, o.code, o.replayed, o.text)
}

// send sends the call once, under a new request id. It may be called from any goroutine.
func (w *wish) send(t *testing.T) outcome {
	t.Helper()
	id := rand.Text()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, bytes.NewReader(w.message(id)))
	if err != nil {
		t.Error(err)
		return outcome{}
	}
	w.setHeader(request.Header)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return outcome{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	got := readOutcome(response.StatusCode, body)
	if got.kind != noAnswer && got.id != id {
		t.Errorf("the answer to request %s is for %q", id, got.id)
	}
	return got
}

func (w *wish) setHeader(header http.Header) {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("MCP-Protocol-Version", "2026-07-28")
	header.Set("Mcp-Method", "tools/call")
	header.Set("Mcp-Name", w.tool)
	if w.key != "" {
		header.Set("Idempotency-Key", w.key)
	}
	if w.bearer != "" {
		header.Set("Authorization", "Bearer "+w.bearer)
	}
}

// message is the call as JSON-RPC.
func (w *wish) message(id string) []byte {
	params := map[string]any{
		"name": w.tool, "arguments": w.arguments,
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
		},
	}
	for name, value := range w.params {
		params[name] = value
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
	if err != nil {
		panic("encoding a call: " + err.Error())
	}
	return body
}

func readOutcome(status int, body []byte) outcome {
	// After a long silence the answer is the last event of a stream.
	if at := bytes.LastIndex(body, []byte("\ndata: {")); at >= 0 {
		body = bytes.TrimPrefix(body[at:], []byte("\ndata: "))
	}
	o := outcome{kind: noAnswer, status: status, text: string(body)}
	var message struct {
		JSONRPC, ID string
		Error       *struct {
			Code    int
			Message string
		}
		Result struct {
			callResult
			ResultType   string
			RequestState string
			Meta         map[string]any `json:"_meta"`
		}
	}
	// What the gateway answers itself is a JSON-RPC error too, but one that names no request.
	if json.Unmarshal(body, &message) != nil || message.JSONRPC == "" || message.ID == "" {
		return o
	}
	o.id, o.raw = message.ID, unmarked(body)
	if message.Error != nil {
		o.kind, o.code, o.text = refused, message.Error.Code, message.Error.Message
		return o
	}
	o.text, o.state = message.Result.text(), message.Result.RequestState
	o.replayed = message.Result.Meta["dev.patchbay/replayed"] == true
	switch {
	case message.Result.ResultType == "input_required":
		o.kind = asks
	case !message.Result.IsError:
		o.kind = done
	case strings.Contains(o.text, "is running already"):
		o.kind = running
	case strings.Contains(o.text, "nobody knows how it ended"):
		o.kind = unknown
	default:
		o.kind = failed
	}
	return o
}

// unmarked is an answer without what differs between one that ran and one that is replayed.
func unmarked(body []byte) string {
	var message map[string]any
	if json.Unmarshal(body, &message) != nil {
		return string(body)
	}
	delete(message, "id")
	if result, ok := message["result"].(map[string]any); ok {
		if meta, ok := result["_meta"].(map[string]any); ok {
			delete(meta, "dev.patchbay/replayed")
		}
	}
	encoded, err := json.Marshal(message)
	if err != nil {
		return string(body)
	}
	return string(encoded)
}

// settle sends the call again until its outcome is known.
func (w *wish) settle(t *testing.T) (o outcome) {
	t.Helper()
	waitFor(t, "the outcome of "+w.tool, func() bool {
		o = w.send(t)
		return o.kind != running && o.kind != noAnswer
	})
	return o
}
