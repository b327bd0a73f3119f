package integration

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"patchbay/dispatcher/endpoint"
	"patchbay/dispatcher/function"
	"patchbay/dispatcher/ratelimit"
	"patchbay/dispatcher/toolcall"
	"patchbay/scripts/localdb"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/localstack"
	"patchbay/shared/ledger"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

// Two callers, by the tokens that the gateway takes for them.
var (
	alice = principal.Principal{Subject: "alice", Issuer: "https://issuer.example.com"}
	bob   = principal.Principal{Subject: "bob", Issuer: "https://issuer.example.com"}
)

// forger makes states that must not open, each with a person's consent, as an attacker would send them.
type forger struct {
	*testing.T
	random *rand.Rand
	ring   seal.Ring
	wish   *wish
	// texts are real confirmations of alice's wish.
	texts []string
	// ways are the kinds of forgeries.
	ways []func() string
}

func newForger(t *testing.T, s *countingStack) *forger {
	t.Helper()
	ring, err := seal.File(s.sealKeys()).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{T: t, random: rand.New(rand.NewPCG(20, 26)), ring: ring, wish: newWish(t, s, "count_confirmed", false)}
	f.texts = []string{f.seal(f.sealer(), f.binding(), f.state()), f.seal(f.sealer(), f.binding(), f.state())}
	f.ways = []func() string{
		f.noise, f.garbageInForm, f.flippedBit, f.replacedCharacter, f.cut, f.lengthened, f.spliced, f.otherKeyID,
		f.ofAnotherCaller, f.ofNobody, f.ofAnotherTool, f.ofOtherArguments, f.expired, f.receipt, f.ofAnotherRing,
	}
	return f
}

func (f *forger) sealer() *seal.Sealer { return seal.New(f.ring, seal.Options{}) }

func (f *forger) binding() seal.Binding {
	b := f.wish.binding(f.T)
	b.Principal = alice
	return b
}

func (f *forger) state() seal.State {
	form := json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`)
	return seal.State{
		Kind: seal.KindConfirmation, Expires: time.Now().Add(10 * time.Minute),
		Asked: map[string]seal.Asked{"patchbay_confirmation": {Method: "elicitation/create", Schema: form}},
	}
}

func (f *forger) seal(sealer *seal.Sealer, binding seal.Binding, state seal.State) string {
	text, err := sealer.Seal(f.Context(), binding, state)
	if err != nil {
		f.Fatal(err)
	}
	return text
}

func (f *forger) text() string { return f.texts[f.random.IntN(len(f.texts))] }

// noise is anything but a state.
func (f *forger) noise() string {
	text := make([]byte, f.random.IntN(300))
	for i := range text {
		text[i] = byte(' ' + f.random.IntN(95))
	}
	return string(text)
}

// garbageInForm has the head of a real state.
func (f *forger) garbageInForm() string {
	raw := make([]byte, f.random.IntN(400))
	for i := range raw {
		raw[i] = byte(f.random.Uint32())
	}
	return "pb1." + f.ring.Keys[0].ID + "." + base64.RawURLEncoding.EncodeToString(raw)
}

// split returns the head of a real state and its decoded rest.
func (f *forger) split() (head string, raw []byte) {
	text := f.text()
	at := strings.LastIndex(text, ".") + 1
	raw, err := base64.RawURLEncoding.DecodeString(text[at:])
	if err != nil {
		f.Fatal(err)
	}
	return text[:at], raw
}

func (f *forger) flippedBit() string {
	head, raw := f.split()
	raw[f.random.IntN(len(raw))] ^= 1 << f.random.IntN(8)
	return head + base64.RawURLEncoding.EncodeToString(raw)
}

func (f *forger) replacedCharacter() string {
	text := []byte(f.text())
	at := f.random.IntN(len(text))
	other := byte('a' + f.random.IntN(26))
	if text[at] == other {
		other = 'Z'
	}
	text[at] = other
	return string(text)
}

func (f *forger) cut() string {
	text := f.text()
	return text[:f.random.IntN(len(text))]
}

func (f *forger) lengthened() string { return f.text() + strings.Repeat("A", 1+f.random.IntN(9)) }

// spliced has its beginning from one real state and its end from another.
func (f *forger) spliced() string {
	one, two := f.texts[0], f.texts[1]
	head := strings.LastIndex(one, ".") + 1
	at := head + 8 + f.random.IntN(len(one)-head-16)
	return one[:at] + two[at:]
}

func (f *forger) otherKeyID() string {
	parts := strings.Split(f.text(), ".")
	parts[1] = fmt.Sprintf("k%d", f.random.IntN(1_000_000))
	return strings.Join(parts, ".")
}

func (f *forger) ofAnotherCaller() string {
	b := f.binding()
	b.Principal = bob
	return f.seal(f.sealer(), b, f.state())
}

func (f *forger) ofNobody() string {
	b := f.binding()
	b.Principal = principal.Principal{}
	return f.seal(f.sealer(), b, f.state())
}

func (f *forger) ofAnotherTool() string {
	b := f.binding()
	b.Tool = "count_effect"
	return f.seal(f.sealer(), b, f.state())
}

func (f *forger) ofOtherArguments() string {
	b := f.binding()
	b.Arguments = bytes.Clone(b.Arguments)
	b.Arguments[f.random.IntN(len(b.Arguments))] ^= 1 << f.random.IntN(8)
	return f.seal(f.sealer(), b, f.state())
}

// expired is authentic, and too late.
func (f *forger) expired() string {
	before := func() time.Time { return time.Now().Add(-time.Hour) }
	state := f.state()
	state.Expires = before().Add(time.Minute)
	return f.seal(seal.New(f.ring, seal.Options{Now: before}), f.binding(), state)
}

// receipt is authentic, and good for something else.
func (f *forger) receipt() string {
	state := f.state()
	state.Kind = seal.KindReceipt
	return f.seal(f.sealer(), f.binding(), state)
}

// ofAnotherRing names a key that there is, and has another secret.
func (f *forger) ofAnotherRing() string {
	other := seal.NewRing()
	other.Keys[0].ID = f.ring.Keys[0].ID
	return f.seal(seal.New(other, seal.Options{}), f.binding(), f.state())
}

// refusals sends so many forgeries and holds them to one answer.
func (f *forger) refusals(many int, send func() outcome) {
	f.Helper()
	var first outcome
	for i := range many {
		f.wish.params = consent(f.ways[i%len(f.ways)]())
		got := send()
		if i == 0 {
			first = got
		}
		if got.kind != refused || got.code != -32602 || got.status != http.StatusBadRequest || got.raw != first.raw {
			f.Fatalf("way %d: %v\nfor %v\nfirst: %v", i%len(f.ways), got, f.wish.params, first)
		}
	}
	if lines := f.wish.effects(f.T); len(lines) > 0 {
		f.Fatalf("forgeries had %d effects", len(lines))
	}
}

// admits sends the real thing, which shows that only its forgeries are refused.
func (f *forger) admits(send func() outcome) {
	f.Helper()
	f.wish.params = consent(f.texts[0])
	got := send()
	if lines := f.wish.effects(f.T); got.kind != done || len(lines) != 1 {
		f.Errorf("the real confirmation: %v with %d effects", got, len(lines))
	}
}

// No state that is forged, altered, expired or somebody else's opens anything, and no answer tells why: 10,000 of them
// through the endpoint in this process, on the stack's tables and functions, and 200 through the whole stack.
func TestForgedStatesAndConsentOpenNothing(t *testing.T) {
	t.Parallel()
	s := counting(t, "forgery", func(o *localstack.Options) {
		o.Principals = localgateway.Principals{"alice": alice, "bob": bob}
	})
	t.Run("in process", func(t *testing.T) {
		f := newForger(t, s)
		handler := inProcess(s, f.ring)
		send := func() outcome { return f.wish.serve(handler, alice) }
		f.refusals(10_000, send)
		f.admits(send)
	})
	t.Run("stack", func(t *testing.T) {
		f := newForger(t, s)
		f.wish.bearer = "alice"
		send := func() outcome { return f.wish.send(t) }
		f.refusals(200, send)
		f.admits(send)
	})
	t.Run("consent", func(t *testing.T) { refusesForgedConsent(t, s) })
}

// refusesForgedConsent sends consent that no person gave.
func refusesForgedConsent(t *testing.T, s *countingStack) {
	w := newWish(t, s, "count_confirmed", false)
	w.bearer = "bob"
	asked := w.send(t)
	if asked.kind != asks {
		t.Fatalf("got %v", asked)
	}
	answer := func(content string) map[string]any {
		return map[string]any{"requestState": asked.state, "inputResponses": json.RawMessage(content)}
	}
	noState := consent("")
	delete(noState, "requestState")
	for name, test := range map[string]struct {
		params map[string]any
		want   kind
	}{
		"without a state":    {noState, asks},
		"without an answer":  {map[string]any{"requestState": asked.state}, asks},
		"under another name": {answer(`{"confirmation":{"action":"accept","content":{"confirm":true}}}`), asks},
		"without content":    {answer(`{"patchbay_confirmation":{"action":"accept"}}`), asks},
		"as a text":          {answer(`{"patchbay_confirmation":{"action":"accept","content":{"confirm":"true"}}}`), asks},
		"box not ticked":     {answer(`{"patchbay_confirmation":{"action":"accept","content":{"confirm":false}}}`), failed},
		"declined":           {answer(`{"patchbay_confirmation":{"action":"decline","content":{"confirm":true}}}`), failed},
		"cancelled":          {answer(`{"patchbay_confirmation":{"action":"cancel"}}`), failed},
	} {
		w.params = test.params
		if got := w.send(t); got.kind != test.want {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
	if lines := w.effects(t); len(lines) > 0 {
		t.Errorf("%d effects without consent", len(lines))
	}
}

type callerKey struct{}

// inProcess is the dispatcher's endpoint, put together as its main does, on the tables and functions of a stack.
func inProcess(s *countingStack, ring seal.Ring) http.Handler {
	db := localdb.Client(s.DatabaseURL)
	log := slog.New(slog.DiscardHandler)
	catalogue := registry.NewReader(db, localstack.Table, registry.ReaderOptions{})
	info := json.RawMessage(`{"name":"in-process","version":"1.0.0"}`)
	return endpoint.New(endpoint.Config{
		ServerInfo: info,
		Catalogue:  catalogue,
		Caller: toolcall.New(toolcall.Config{
			Catalogue: catalogue,
			Functions: function.New(aws.Config{
				Region:       localdb.Region,
				Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
				BaseEndpoint: aws.String(s.LambdaURL),
			}),
			Sealer:     seal.New(ring, seal.Options{}),
			Ledger:     ledger.New(db, localstack.LedgerTable, ledger.Options{}),
			Limiter:    ratelimit.New(db, localstack.LedgerTable),
			ServerInfo: info, Log: log, Audit: log,
		}),
		Facts: func(ctx context.Context) (endpoint.Facts, error) {
			caller, _ := ctx.Value(callerKey{}).(principal.Principal)
			return endpoint.Facts{RequestID: "in-process", Principal: caller}, nil
		},
		Log: log,
	})
}

// serve sends the wish to a handler in this process.
func (w *wish) serve(handler http.Handler, caller principal.Principal) outcome {
	request := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(w.message("1")))
	w.setHeader(request.Header)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request.WithContext(context.WithValue(request.Context(), callerKey{}, caller)))
	return readOutcome(recorder.Code, recorder.Body.Bytes())
}

// Forged and altered handles of a real basket open nothing and are told apart by nobody.
func TestForgedHandles(t *testing.T) {
	t.Parallel()
	created := call(t, examples.URL, "create_basket", `{}`)
	var basket struct {
		ID string `json:"basket_id"`
	}
	if err := json.Unmarshal(created.StructuredContent, &basket); err != nil || basket.ID == "" {
		t.Fatalf("create_basket: %+v: %v", created, err)
	}
	view := func(id string) callResult {
		return call(t, examples.URL, "view_basket", fmt.Sprintf(`{"basket_id":%q}`, id))
	}
	random := rand.New(rand.NewPCG(7, 28))
	var first callResult
	for i := range 200 {
		forged := []byte(basket.ID)
		at := random.IntN(len(forged))
		switch i % 4 {
		case 0:
			forged[at] = "0189!x"[random.IntN(6)]
		case 1:
			forged = append(forged[:at:at], basket.ID[at+1:]...)
		case 2:
			forged = append(forged[:at+1:at+1], basket.ID[at:]...)
		case 3:
			forged = []byte("bsk_" + strings.Repeat(string(forged[at]), len(forged)-4))
		}
		if string(forged) == basket.ID || len(forged) == 0 {
			continue
		}
		got := view(string(forged))
		if first.Content == nil {
			first = got
		}
		if !got.IsError || got.text() != first.text() {
			t.Fatalf("%q: %+v, first %+v", forged, got, first)
		}
	}
	if got := view(basket.ID); got.IsError {
		t.Errorf("the real handle: %+v", got)
	}
}
