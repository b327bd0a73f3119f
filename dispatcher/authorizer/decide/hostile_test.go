package decide_test

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"patchbay/dispatcher/authorizer/issuertest"
)

// attack is a request that somebody sends who should not get in, or one that only looks like it.
type attack struct {
	name  string
	event object
	// reason is the word in the log; empty for a request that is in order and gets in.
	reason string
}

// attacks are made for a fixture's issuer, by a stranger with a key and a server of their own.
type attacks struct {
	*fixture
	stranger *issuertest.Key
	// elsewhere is the stranger's server, at which keys could be fetched.
	elsewhere string
	all       []attack
}

func (a *attacks) add(name string, e object, reason string) {
	a.all = append(a.all, attack{name: name, event: e, reason: reason})
}

// claim adds a token that the issuer signed, with other claims than a good one.
func (a *attacks) claim(name, reason string, changes ...any) {
	a.add(name, event(a.key.Sign(a.key.Header(), with(a.claims(), changes...))), reason)
}

// head adds a token that the issuer signed, with another header than a good one.
func (a *attacks) head(name, reason string, changes ...any) {
	header := with(a.key.Header(), changes...)
	raw, err := json.Marshal(header)
	if err != nil {
		a.Fatal(err)
	}
	a.raw(name, reason, string(raw), "")
}

// raw adds a token that the issuer signed, of bytes; empty ones are those of a good one.
func (a *attacks) raw(name, reason, header, claims string) {
	for text, good := range map[*string]object{&header: a.key.Header(), &claims: a.claims()} {
		if *text == "" {
			raw, err := json.Marshal(good)
			if err != nil {
				a.Fatal(err)
			}
			*text = string(raw)
		}
	}
	a.add(name, event(a.key.SignRaw([]byte(header), []byte(claims), "RS256")), reason)
}

// forge adds a token that a stranger signed.
func (a *attacks) forge(name, reason string, key *issuertest.Key, changes ...any) {
	a.add(name, event(key.Sign(with(a.key.Header(), changes...), a.claims())), reason)
}

// text adds a token as a text.
func (a *attacks) text(name, reason, text string) { a.add(name, event(text), reason) }

// field adds a request with other Authorization fields.
func (a *attacks) field(name, reason string, fields object) {
	e := with(event(""), "headers", nil)
	e["multiValueHeaders"] = fields
	a.add(name, e, reason)
}

func (a *attacks) signatures() {
	a.text("no signature", "signature", a.good()[:strings.LastIndex(a.good(), ".")+1])
	for _, algorithm := range []string{"none", "None", "NONE", "nOnE"} {
		a.forge("alg "+algorithm+" with a signature", "algorithm", a.key, "alg", algorithm)
		text := a.key.Sign(with(a.key.Header(), "alg", algorithm), a.claims())
		a.text("alg "+algorithm+" without one", "algorithm", text[:strings.LastIndex(text, ".")+1])
	}
	a.head("no alg", "algorithm", "alg", nil)
	a.head("an empty alg", "algorithm", "alg", "")
	a.raw("alg null", "form", `{"alg":null,"kid":"k","typ":"at+jwt"}`, "")
	a.head("alg a list", "form", "alg", []string{"RS256", "none"})
	a.head("alg in lower case", "algorithm", "alg", "rs256")
	for name, secret := range a.publicKeyAsSecret() {
		a.forge("HS256 with the public key as "+name, "algorithm", &issuertest.Key{Private: secret}, "alg", "HS256")
	}
	a.forge("HS256 without a secret", "algorithm", &issuertest.Key{Private: []byte{}}, "alg", "HS256", "kid", "")
	a.forge("a stranger's key", "signature", a.stranger)
	a.forge("a stranger's key without an id", "signature", a.stranger, "kid", nil)
	a.forge("a stranger's key by its own id", "key", a.stranger, "kid", "stranger")
	a.forge("an algorithm of the key's that the issuer does not use", "algorithm", a.key, "alg", "RS512")
	a.forge("PS256 where RS256 is used", "algorithm", a.key, "alg", "PS256")
	pss := a.key.SignRaw(a.json(a.key.Header()), a.json(a.claims()), "PS256")
	a.text("PSS under the name of PKCS #1", "signature", pss)
	a.forge("ES256 with the id of an RSA key", "key", issuertest.EC(a, "k"), "alg", "ES256")
	header := with(a.key.Header(), "alg", "ES256", "kid", "e")
	a.text("an ES256 signature of zeros", "signature", a.signed(header, make([]byte, 64)))
	a.text("an ES256 signature that is too short", "signature", a.signed(header, []byte{1}))
	a.text("a signature of zeros", "signature", a.signed(a.key.Header(), make([]byte, 256)))
	good := strings.Split(a.good(), ".")
	other := strings.Split(a.key.Sign(a.key.Header(), with(a.claims(), "sub", "u-2")), ".")
	a.text("the signature of another token", "signature", good[0]+"."+good[1]+"."+other[2])
	a.text("the claims of another token", "signature", good[0]+"."+other[1]+"."+good[2])
	whole, err := base64.RawURLEncoding.DecodeString(good[2])
	if err != nil {
		a.Fatal(err)
	}
	a.text("a signature that is cut off", "signature", good[0]+"."+good[1]+"."+issuertest.Encode(whole[:len(whole)-1]))
}

func (a *attacks) json(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		a.Fatal(err)
	}
	return raw
}

// signed is a token with the claims of a good one and a signature that somebody made up.
func (a *attacks) signed(header object, signature []byte) string {
	return issuertest.Encode(a.json(header)) + "." + issuertest.Encode(a.json(a.claims())) + "." +
		issuertest.Encode(signature)
}

// publicKeyAsSecret are the forms in which a public key is published, as a secret for HMAC.
func (a *attacks) publicKeyAsSecret() map[string][]byte {
	public := &a.key.Private.(*rsa.PrivateKey).PublicKey
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		a.Fatal(err)
	}
	return map[string][]byte{
		"PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "DER": der, "a modulus": public.N.Bytes(),
		"JSON": a.json(a.key.JWK()),
	}
}

func (a *attacks) headers() {
	for _, kid := range []string{
		"../../../../dev/null", "/proc/self/environ", "k\x00", "k' OR '1'='1", `k"; drop`, "K", " k", "k/../k", "%6b",
		a.elsewhere + "/keys", "${jndi:ldap://x}", "constructor", "__proto__",
	} {
		a.head("kid "+kid, "key", "kid", kid)
	}
	a.head("a huge kid", "key", "kid", strings.Repeat("k", 257))
	a.head("kid a number", "form", "kid", 7)
	a.head("kid a list", "form", "kid", []string{"k"})
	embedded := with(a.stranger.Header(), "kid", "stranger", "jwk", a.stranger.JWK())
	a.add("a key in the header", event(a.stranger.Sign(embedded, a.claims())), "embedded-key")
	a.head("the issuer's own key in the header", "embedded-key", "jwk", a.key.JWK())
	for _, name := range []string{"jku", "x5u"} {
		a.forge(name+" to a stranger's keys", "embedded-key", a.stranger, "kid", "stranger", name, a.elsewhere+"/keys")
		a.head(name+" to the issuer's own keys", "embedded-key", name, a.issuer.URL+"/keys")
	}
	a.forge("a certificate in the header", "embedded-key", a.stranger, "x5c", []string{"MIIB"})
	a.head("an extension that must be understood", "critical", "crit", []string{"exp"}, "exp", now+300)
	a.head("an empty list of extensions", "critical", "crit", []string{})
	a.head("claims that are not encoded", "critical", "b64", false)
	for _, kind := range []string{
		"JWT", "jwt", "id_token+jwt", "application/jwt", "logout+jwt", "dpop+jwt", "secevent+jwt", "at+jwt2", "xat+jwt",
		"text/at+jwt", "at+jwt;x=1", "",
	} {
		a.head("typ "+kind, "typ", "typ", kind)
	}
	a.head("no typ", "typ", "typ", nil)
	a.head("typ a number", "form", "typ", 7)
	a.raw("alg twice", "duplicate", `{"alg":"none","alg":"RS256","kid":"k","typ":"at+jwt"}`, "")
	a.raw("alg in two cases", "algorithm", `{"ALG":"RS256","kid":"k","typ":"at+jwt"}`, "")
	a.raw("kid twice", "duplicate", `{"alg":"RS256","kid":"x","kid":"k","typ":"at+jwt"}`, "")
	a.raw("a header that is a list", "form", `["RS256"]`, "")
	a.raw("a header that is null", "form", `null`, "")
	a.raw("a header that is no JSON", "form", `{"alg":"RS256"`, "")
	a.raw("two headers in one", "form", `{"alg":"RS256"}{"alg":"none"}`, "")
}

func (a *attacks) claimsOf() {
	a.claim("another server's audience", "audience", "aud", "https://other.example/mcp")
	a.claim("the audience with a slash", "audience", "aud", string(resource)+"/")
	a.claim("the audience in capitals", "audience", "aud", strings.ToUpper(string(resource)))
	a.claim("an audience that begins alike", "audience", "aud", string(resource)+".evil.example")
	a.claim("the audience's host alone", "audience", "aud", "https://mcp.example.com")
	a.claim("the audience over http", "audience", "aud", "http://mcp.example.com/mcp")
	a.claim("a wildcard audience", "audience", "aud", "*")
	a.claim("audiences in one text", "audience", "aud", string(resource)+" https://other.example")
	a.claim("the client as audience", "audience", "aud", "c-1")
	a.claim("no audience", "audience", "aud", nil)
	a.claim("an empty list of audiences", "audience", "aud", []string{})
	a.claim("an empty audience", "audience", "aud", "")
	a.claim("a number for an audience", "claims", "aud", 7)
	a.claim("a number among the audiences", "claims", "aud", []any{string(resource), 7})
	a.claim("an object for an audience", "claims", "aud", object{"0": string(resource)})
	a.claim("the issuer with a slash", "issuer", "iss", a.issuer.URL+"/")
	a.claim("the issuer in capitals", "issuer", "iss", strings.ToUpper(a.issuer.URL))
	a.claim("the issuer with a fragment", "issuer", "iss", a.issuer.URL+"#")
	a.claim("no issuer", "issuer", "iss", nil)
	a.claim("a list of issuers", "issuer", "iss", []string{a.issuer.URL})
	a.claim("a stranger as issuer", "issuer", "iss", a.elsewhere)
	a.text("a stranger's own token", "issuer", a.stranger.Sign(a.stranger.Header(), with(a.claims(), "iss", a.elsewhere)))
	a.claim("expired", "expired", "exp", now-30)
	a.claim("expired long ago", "expired", "exp", 1)
	a.claim("expired before time", "expired", "exp", -1e15)
	a.claim("no expiry", "claims", "exp", nil)
	a.claim("an expiry that is a text", "claims", "exp", fmt.Sprint(now+300))
	a.claim("an expiry that is true", "claims", "exp", true)
	a.claim("an expiry in a list", "claims", "exp", []int{now + 300})
	a.raw("an expiry that is null", "claims", "", a.replaced(`"exp":1780000300`, `"exp":null`))
	a.raw("an expiry past all numbers", "claims", "", a.replaced(`"exp":1780000300`, `"exp":1e999`))
	a.claim("not yet", "early", "nbf", now+31)
	a.claim("issued in the future", "early", "iat", now+31)
	a.claim("a beginning that is a text", "claims", "nbf", "soon")
	a.claim("no client", "claims", "client_id", nil)
	a.claim("a client that is a number", "claims", "client_id", 7)
	a.claim("no subject", "claims", "sub", nil)
	a.claim("an empty subject", "claims", "sub", "")
	a.claim("a subject that is a number", "claims", "sub", 7)
	a.claim("a huge subject", "claims", "sub", strings.Repeat("u", 513))
	a.claim("scopes in a list", "claims", "scope", []string{"notes:read"})
	a.claim("scopes in an object", "claims", "scope", object{})
	a.claim("an ID token under the type of an access token", "kind", "at_hash", "h")
	a.claim("bound to a key", "bound", "cnf", object{"jkt": "x"})
	a.head("an ID token", "typ", "typ", "JWT")
}

// replaced is a good token's claims with a part replaced.
func (a *attacks) replaced(old, text string) string {
	claims := string(a.json(a.claims()))
	if !strings.Contains(claims, old) {
		a.Fatalf("%s has no %s", claims, old)
	}
	return strings.Replace(claims, old, text, 1)
}

func (a *attacks) ambiguities() {
	issuer := `"iss":"` + a.issuer.URL + `"`
	a.raw("two audiences", "duplicate", "", a.replaced(`"aud":`, `"aud":"https://other.example/mcp","aud":`))
	a.raw("two issuers", "duplicate", "", a.replaced(issuer, `"iss":"`+a.elsewhere+`",`+issuer))
	a.raw("two issuers, one of them escaped", "duplicate", "", a.replaced(issuer, `"\u0069ss":"`+a.elsewhere+`",`+issuer))
	a.raw("two expiries", "duplicate", "", a.replaced(`"exp":`, `"exp":1,"exp":`))
	a.raw("a member twice within another", "duplicate", "", a.replaced(`{`, `{"x":{"y":1,"y":2},`))
	a.raw("an audience in another case", "audience", "", a.replaced(`"aud":`, `"Aud":`))
	a.raw("an issuer in another case", "issuer", "", a.replaced(`"iss":`, `"ISS":`))
	a.raw("an issuer with a long s", "issuer", "", a.replaced(`"iss":`, `"i\u017fs":`))
	a.raw("claims that are a list", "form", "", `[`+string(a.json(a.claims()))+`]`)
	a.raw("claims that are null", "form", "", `null`)
	a.raw("claims that are a text", "form", "", `"`+a.issuer.URL+`"`)
	a.raw("claims that are no JSON", "form", "", `{"iss":`)
	a.raw("claims and more", "form", "", string(a.json(a.claims()))+`{}`)
	a.raw("claims that are not UTF-8", "duplicate", "", a.replaced(`"jti":"j"`, "\"jti\":\"\xff\""))
	a.raw("claims with a byte order mark", "form", "", "\ufeff"+string(a.json(a.claims())))
	a.raw("deep claims", "duplicate", "", a.replaced(`{`, `{"x":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`,`))
	a.raw("a token in the claims", "form", "", a.good())
}

func (a *attacks) forms() {
	good := strings.Split(a.good(), ".")
	a.text("one part", "form", good[1])
	a.text("two parts", "form", good[0]+"."+good[1])
	a.text("four parts", "form", a.good()+".x")
	a.text("five parts, as encrypted", "form", good[0]+"....")
	a.text("dots alone", "form", "..")
	a.text("no header", "form", "."+good[1]+"."+good[2])
	a.text("no claims", "form", good[0]+".."+good[2])
	a.text("padding", "form", good[0]+"==."+good[1]+"."+good[2])
	slashes := base64.RawStdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 256))
	a.text("the other alphabet", "form", good[0]+"."+good[1]+"."+slashes)
	a.text("a signature written in another way", "form", good[0]+"."+good[1]+"."+a.otherTail(good[2]))
	a.text("an opaque token", "form", "2YotnFZFEjr1zCsicMWpAA")
	a.text("an API key", "form", "AKIAIOSFODNN7EXAMPLE")
	a.text("huge", "size", a.key.Sign(a.key.Header(), with(a.claims(), "x", strings.Repeat("x", 7<<10))))
	a.text("nothing but huge", "size", strings.Repeat("a.", 5<<10))
	a.text("JSON serialization", "no-token",
		`{"payload":"`+good[1]+`","protected":"`+good[0]+`","signature":"`+good[2]+`"}`)
	a.text("quoted", "no-token", `"`+a.good()+`"`)
	a.text("a space in it", "no-token", good[0]+"."+good[1]+". "+good[2])
	a.text("a line end in it", "no-token", good[0]+"."+good[1]+".\n"+good[2])
	a.text("a NUL behind it", "no-token", a.good()+"\x00")
	a.text("another letter", "no-token", a.good()+"é")
	a.text("Bearer twice", "no-token", "Bearer "+a.good())
	a.text("an attribute behind it", "no-token", a.good()+", realm=x")
}

// otherTail is the same signature with other bits behind its end, which lax readers drop.
func (a *attacks) otherTail(signature string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, signature[len(signature)-1])
	return signature[:len(signature)-1] + string(alphabet[last^1])
}

func (a *attacks) requests() {
	bearer := "Bearer " + a.good()
	a.field("no Authorization", "no-token", object{"Host": []string{"mcp.example.com"}})
	a.field("no fields at all", "no-token", object{})
	a.field("an empty Authorization", "no-token", object{"Authorization": []string{""}})
	a.field("Bearer alone", "no-token", object{"Authorization": []string{"Bearer"}})
	a.field("Bearer and a space", "no-token", object{"Authorization": []string{"Bearer "}})
	a.field("a token alone", "no-token", object{"Authorization": []string{a.good()}})
	for _, scheme := range []string{"Basic", "DPoP", "Digest", "Token", "BearerX", "Bearer,", "Bearer:"} {
		a.field("scheme "+scheme, "no-token", object{"Authorization": []string{scheme + " " + a.good()}})
	}
	a.field("a tab behind the scheme", "no-token", object{"Authorization": []string{"Bearer\t" + a.good()}})
	a.field("two Authorization fields", "no-token", object{"Authorization": []string{bearer, bearer}})
	a.field("two different ones", "no-token", object{"Authorization": []string{bearer, "Basic dTpw"}})
	a.field("two, one of them empty", "no-token", object{"Authorization": []string{bearer, ""}})
	a.field("two names", "no-token", object{"Authorization": []string{bearer}, "authorization": []string{bearer}})
	a.field("two in one", "no-token", object{"Authorization": []string{bearer + ", " + bearer}})
	a.field("another field", "no-token", object{"X-Authorization": []string{bearer}})
	a.field("a cookie", "no-token", object{"Cookie": []string{"access_token=" + a.good()}})
	const one, many = "queryStringParameters", "multiValueQueryStringParameters"
	a.add("a token in the query", with(event(""), "headers", nil, "multiValueHeaders", nil,
		one, object{"access_token": a.good()}), "no-token")
	a.add("a token in the query, too", with(event(a.good()), one, object{"access_token": a.good()}), "no-token")
	a.add("an empty token in the query", with(event(a.good()), one, object{"access_token": ""}), "no-token")
	a.add("a token in the query, in capitals", with(event(a.good()), one, object{"ACCESS_TOKEN": a.good()}), "no-token")
	a.add("tokens in the query", with(event(a.good()), many, object{"access_token": []string{a.good(), "x"}}), "no-token")
	a.add("an event of nothing", object{}, "no-token")
}

// harmless are requests that are in order, however they look.
func (a *attacks) harmless() {
	good := a.good()
	a.text("a good token", "", good)
	for _, field := range []string{"bearer " + good, "BEARER " + good, "Bearer   " + good, " Bearer " + good + " "} {
		a.field("scheme "+field[:8], "", object{"Authorization": []string{field}})
	}
	a.field("a name in lower case", "", object{"authorization": []string{"Bearer " + good}})
	a.add("another parameter in the query", with(event(good), "queryStringParameters", object{"token": "x"}), "")
	a.claim("a scope that is none", "", "scope", "notes:read \"x\" \\ é")
	a.claim("admin by name", "", "admin", true, "roles", []string{"admin"}, "permissions", []string{"admin"})
	a.head("unknown members of the header", "", "x5t", "abc", "foo", []int{1})
	a.claim("expired within the leeway", "", "exp", now-29)
}

// None of these gets in but those that are in order, none makes the authorizer fail, and none is found in the log.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	t.Cleanup(elsewhere.Close)
	a := &attacks{
		fixture: newFixture(t, issuertest.EC(t, "e")), stranger: issuertest.OtherRSA(t, "k"), elsewhere: elsewhere.URL,
	}
	for _, make := range []func(){
		a.signatures, a.headers, a.claimsOf, a.ambiguities, a.forms, a.requests, a.harmless,
	} {
		make()
	}
	if len(a.all) < 60 {
		t.Errorf("only %d requests", len(a.all))
	}
	names := map[string]bool{}
	for _, attack := range a.all {
		if names[attack.name] {
			t.Errorf("%s is there twice", attack.name)
		}
		names[attack.name] = true
		a.answered(attack)
	}
	if fetched.Load() != 0 {
		t.Errorf("keys were fetched where a token said so, %d times", fetched.Load())
	}
	for _, path := range a.issuer.Asked() {
		if path != "/.well-known/openid-configuration" && path != "/keys" {
			t.Errorf("the issuer was asked for %s", path)
		}
	}
	t.Logf("%d requests", len(a.all))
}

func (a *attacks) answered(attack attack) {
	a.Helper()
	got, err := a.send(attack.event)
	text := a.log.take()
	var l line
	if jsonErr := json.Unmarshal([]byte(text), &l); jsonErr != nil {
		a.Errorf("%s: the log is %s: %v", attack.name, text, jsonErr)
	}
	if attack.reason == "" {
		if err != nil || got.effect() != "Allow" || got.Context["scopes"] != "notes:read" {
			a.Errorf("%s: got %+v, %v, %s", attack.name, got, err, l.Reason)
		}
	} else if err == nil || err.Error() != "Unauthorized" || l.Outcome != "unauthorized" || l.Reason != attack.reason {
		a.Errorf("%s: got %+v, %v for %q; want Unauthorized for %q", attack.name, got, err, l.Reason, attack.reason)
	}
	if len(text) > 2<<10 {
		a.Errorf("%s: %d bytes in the log", attack.name, len(text))
	}
	for _, secret := range secrets(attack.event) {
		if strings.Contains(text, secret) {
			a.Errorf("%s: the log has a part of the token, %.20s…: %.300s", attack.name, secret, text)
		}
	}
}

// secrets are the parts of all tokens in an event: whoever has them can put the token together.
func secrets(e object) []string {
	raw, _ := json.Marshal(e)
	between := func(r rune) bool { return strings.ContainsRune(". \"\\=,", r) }
	var parts []string
	for _, part := range strings.FieldsFunc(string(raw), between) {
		if len(part) > 60 {
			parts = append(parts, part)
		}
	}
	return parts
}

// A random event is answered with a policy only where it has a good token, and never with a crash.
func FuzzDecide(f *testing.F) {
	fixture := newFixture(f)
	good := fixture.good()
	f.Add("Bearer "+good, "tools/call", "notes_write", "")
	f.Add("bearer "+good, "tools/list", "=?base64?Z3LDvMOfZQ==?=", "access_token")
	f.Add("Bearer "+good[:len(good)-1], "", "", "x")
	f.Add("Basic dTpw", "tools/call", "greet", "")
	f.Fuzz(func(t *testing.T, field, method, name, parameter string) {
		e := event("")
		e["multiValueHeaders"] = object{
			"Authorization": []string{field}, "Mcp-Method": []string{method}, "Mcp-Name": []string{name},
		}
		e["queryStringParameters"] = object{parameter: "x"}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Skip()
		}
		answer, err := fixture.handler.Invoke(t.Context(), raw)
		fixture.log.take()
		scheme, text, _ := strings.Cut(strings.Trim(field, " \t"), " ")
		entitled := strings.EqualFold(scheme, "Bearer") && strings.Trim(text, " ") == good
		if err == nil && !entitled {
			t.Errorf("%q got in: %s", field, answer)
		}
		if err != nil && err.Error() != "Unauthorized" && name != "panics" {
			t.Errorf("%q: %v", field, err)
		}
	})
}
