package handle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"patchbay/shared/handle"
	"patchbay/shared/principal"
)

func TestLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store, "apple")
	item := f.load(store, id)
	check := func(want handle.Item[basket]) {
		t.Helper()
		want.ID = id
		if diff := cmp.Diff(want, item, ignoreStored()); diff != "" {
			t.Errorf("item (-want +got):\n%s", diff)
		}
	}
	check(handle.Item[basket]{Value: basket{[]string{"apple"}}, Version: 1, ExpiresAt: f.now.Add(handle.DefaultWindow)})

	f.pass(time.Hour)
	item.Value.Items = append(item.Value.Items, "pear")
	item, err := store.Save(f.ctx(), item)
	if err != nil {
		t.Fatal(err)
	}
	want := handle.Item[basket]{
		Value: basket{[]string{"apple", "pear"}}, Version: 2, ExpiresAt: f.now.Add(handle.DefaultWindow),
	}
	check(want)
	item = f.load(store, id)
	check(want)

	item, err = store.Update(f.ctx(), id, adding("plum"))
	if err != nil {
		t.Fatal(err)
	}
	want.Value.Items, want.Version = []string{"apple", "pear", "plum"}, 3
	check(want)
	item = f.load(store, id)
	check(want)

	if err := store.Delete(f.ctx(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(f.ctx(), id); !errors.Is(err, handle.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

func ignoreStored() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".stored" }, cmp.Ignore())
}

func TestHandles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	form := regexp.MustCompile(`^bsk_[a-z2-7]{26,}$`)
	seen := map[string]bool{}
	for range 20 {
		id := f.create(store)
		if !form.MatchString(id) || seen[id] {
			t.Errorf("handle %q, made before: %v", id, seen[id])
		}
		seen[id] = true
	}
}

// An item tells neither the handle nor the principal, and its key begins with the namespace.
func TestKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.create(f.store(), "apple")
	scan, err := f.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
	if err != nil || len(scan.Items) != 1 {
		t.Fatal(scan, err)
	}
	shown := fmt.Sprint(golden(scan.Items[0]))
	if strings.Contains(shown, id[4:]) || strings.Contains(shown, ada.Issuer) {
		t.Errorf("the item tells too much: %s", shown)
	}
	if key := golden(scan.Items[0])["pk"].S; !strings.HasPrefix(key, "state#baskets#") {
		t.Errorf("key %q", key)
	}
}

// operations are all that can be done with a handle.
func operations(store *handle.Store[basket]) map[string]func(context.Context, string) error {
	return map[string]func(context.Context, string) error{
		"load": func(ctx context.Context, id string) error { _, err := store.Load(ctx, id); return err },
		"save": func(ctx context.Context, id string) error {
			_, err := store.Save(ctx, handle.Item[basket]{ID: id, Version: 1})
			return err
		},
		"update": func(ctx context.Context, id string) error {
			_, err := store.Update(ctx, id, adding("stolen"))
			return err
		},
		"delete": func(ctx context.Context, id string) error { return store.Delete(ctx, id) },
	}
}

// Whatever the reason, the error is the same, and so are the requests that it takes.
func TestNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	expired := f.create(store, "apple")
	f.pass(handle.DefaultWindow)
	id := f.create(store, "apple")
	otherNamespace := f.options()
	otherNamespace.Namespace = "orders"
	f.db.requests()
	requests := map[string]string{"load": "get 1", "save": "get 1, update 1", "update": "get 1", "delete": "delete 1"}
	messages := map[string]string{}
	for name, test := range map[string]struct {
		store  *handle.Store[basket]
		caller principal.Principal
		id     string
	}{
		"unknown":         {store, ada, "bsk_" + strings.Repeat("a", 26)},
		"empty":           {store, ada, ""},
		"malformed":       {store, ada, "bsk_#'\x00\xff"},
		"long":            {store, ada, strings.Repeat("x", 1<<20)},
		"expired":         {store, ada, expired},
		"another case":    {store, ada, strings.ToUpper(id)},
		"with a blank":    {store, ada, id + " "},
		"of another":      {store, bob, id},
		"of no one":       {store, principal.Principal{}, id},
		"other issuer":    {store, principal.Principal{Subject: "ada", Issuer: "https://b.example"}, id},
		"no issuer":       {store, principal.Principal{Subject: "ada"}, id},
		"client":          {store, principal.Principal{ClientID: "ada", Issuer: ada.Issuer}, id},
		"other namespace": {storeOf[basket](f, f.db, otherNamespace), ada, id},
	} {
		for operation, run := range operations(test.store) {
			err := run(f.as(test.caller), test.id)
			if !errors.Is(err, handle.ErrNotFound) {
				t.Errorf("%s: %s: %v", operation, name, err)
				continue
			}
			message := strings.ReplaceAll(err.Error(), "orders", "baskets")
			if messages[operation] == "" {
				messages[operation] = message
			}
			if message != messages[operation] {
				t.Errorf("%s: %s: error %q, others have %q", operation, name, err, messages[operation])
			}
			if got := f.db.requests(); got != requests[operation] && name != "expired" {
				t.Errorf("%s: %s: %s; want %s", operation, name, got, requests[operation])
			}
		}
	}
	if got := f.load(store, id); len(got.Value.Items) != 1 || got.Version != 1 {
		t.Errorf("the real one is now %+v", got)
	}
}

func TestNotFoundText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	text := f.store().NotFoundText()
	for _, part := range []string{"no such basket", "expired", "Create a new one with create_basket"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
	plain := f.options()
	plain.Kind, plain.CreatedBy = "", ""
	if text := storeOf[basket](f, f.db, plain).NotFoundText(); !strings.Contains(text, "no such state:") ||
		!strings.Contains(text, "Create a new one and") {
		t.Errorf("text %q", text)
	}
}

// A thousand forged handles, most of them near a real one, open nothing.
func TestForgedHandles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store, "apple")
	random := rand.New(rand.NewPCG(7, 28))
	forged := func() string {
		b := []byte(id)
		switch at := random.IntN(len(b)); random.IntN(4) {
		case 0:
			b[at] ^= 1 << random.IntN(8)
		case 1:
			b = append(b[:at], b[at+1:]...)
		case 2:
			b = append(b[:at+1], b[at:]...)
		case 3:
			b = b[:at]
		}
		return string(b)
	}
	tried := 0
	for tried < 1000 {
		text := forged()
		if text == id {
			continue
		}
		tried++
		if item, err := store.Load(f.ctx(), text); !errors.Is(err, handle.ErrNotFound) {
			t.Fatalf("%q: %+v, %v", text, item, err)
		}
	}
}

// Anonymous callers are one: whoever has the handle has the value. A caller who is somebody has not.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	nobody := f.as(principal.Principal{})
	id, err := store.Create(nobody, basket{Items: []string{"apple"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(f.as(principal.Principal{Tenant: "t"}), id); err != nil {
		t.Errorf("another anonymous caller: %v", err)
	}
	if _, err := store.Load(f.ctx(), id); !errors.Is(err, handle.ErrNotFound) {
		t.Errorf("a caller with a name: %v", err)
	}
}

// A context that belongs to no call must not make its value everybody's.
func TestContextOfNoCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	run := operations(store)
	run["create"] = func(ctx context.Context, _ string) error { _, err := store.Create(ctx, basket{}); return err }
	for name, run := range run {
		err := run(t.Context(), "bsk_x")
		if err == nil || errors.Is(err, handle.ErrNotFound) || !strings.Contains(err.Error(), "belongs to no call") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := f.db.requests(); got != "" {
		t.Errorf("requests: %s", got)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{100, handle.DefaultMaxBytes, handle.MaxBytes} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			if limit == handle.MaxBytes {
				engine.NotOnMoto(t, "its UpdateItem adds the size of an attribute's new value to that of the whole item, the "+
					"old value included; DynamoDB bounds the item as it becomes (Constraints: \"Item size\")")
			}
			f := newFixture(t)
			options := f.options()
			options.MaxBytes = limit
			store := storeOf[string](f, f.db, options)
			fitting := strings.Repeat("x", limit-2) // two quotes
			id, err := store.Create(f.ctx(), fitting)
			if err != nil {
				t.Fatal(err)
			}
			item, err := store.Update(f.ctx(), id, func(s *string) error { *s = strings.ToUpper(*s); return nil })
			if err != nil || item.Value != strings.ToUpper(fitting) {
				t.Fatalf("limit %d: %v", limit, err)
			}
			_, createErr := store.Create(f.ctx(), fitting+"x")
			_, updateErr := store.Update(f.ctx(), id, func(s *string) error { *s += "x"; return nil })
			for _, err := range []error{createErr, updateErr} {
				if !errors.Is(err, handle.ErrTooLarge) ||
					!strings.Contains(err.Error(), fmt.Sprintf("%d bytes of JSON; allowed: %d", limit+1, limit)) {
					t.Errorf("limit %d: error %v", limit, err)
				}
			}
		})
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, edit := range map[string]func(*handle.Options){
		`namespace "Baskets"`: func(o *handle.Options) { o.Namespace = "Baskets" },
		`namespace "a#b"`:     func(o *handle.Options) { o.Namespace = "a#b" },
		`namespace ""`:        func(o *handle.Options) { o.Namespace = "" },
		`prefix "b_k"`:        func(o *handle.Options) { o.Prefix = "b_k" },
		"window 59s":          func(o *handle.Options) { o.Window = 59 * time.Second },
		"window 2h0m0s":       func(o *handle.Options) { o.Window, o.Lifetime = 2*time.Hour, time.Hour },
		"lifetime 87600h0m0s": func(o *handle.Options) { o.Lifetime = 10 * 365 * 24 * time.Hour },
		"MaxBytes 307201":     func(o *handle.Options) { o.MaxBytes = handle.MaxBytes + 1 },
		"MaxBytes -1":         func(o *handle.Options) { o.MaxBytes = -1 },
	} {
		options := handle.Options{Namespace: "baskets", Prefix: "bsk"}
		edit(&options)
		table := handle.Table{DB: &watchedDB{}, Name: "t"}
		if _, err := handle.New[basket](table, caller, options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	good := handle.Options{Namespace: "baskets", Prefix: "bsk", Window: 30 * 24 * time.Hour}
	for _, test := range []struct {
		table  handle.Table
		caller handle.Caller
	}{
		{handle.Table{Name: "t"}, caller},
		{handle.Table{DB: &watchedDB{}}, caller},
		{handle.Table{DB: &watchedDB{}, Name: "t"}, nil},
	} {
		if _, err := handle.New[basket](test.table, test.caller, good); err == nil {
			t.Errorf("%+v was accepted", test.table)
		}
	}
	if _, err := handle.New[basket](handle.Table{DB: &watchedDB{}, Name: "t"}, caller, good); err != nil {
		t.Error(err)
	}
}

func TestOpenTable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	environment := map[string]string{
		"PATCHBAY_STATE_TABLE": f.table, "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_DYNAMODB": engine.URL(t),
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
	}
	getenv := func(name string) string { return environment[name] }
	table, err := handle.OpenTable(getenv)
	if err != nil {
		t.Fatal(err)
	}
	f.create(storeOf[basket](f, table.DB, f.options()), "apple")
	for _, name := range []string{"AWS_REGION", "PATCHBAY_STATE_TABLE"} {
		delete(environment, name)
		if _, err := handle.OpenTable(getenv); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
