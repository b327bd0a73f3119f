package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"patchbay/shared/secret"
)

func file(t *testing.T, text string) secret.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets.local.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return secret.File(path)
}

func TestFile(t *testing.T) {
	t.Parallel()
	source := file(t, `{"tracker-token": "hunter2", "other": "x"}`)
	got, err := source.Get(t.Context(), "tracker-token")
	if err != nil || got.Reveal() != "hunter2" {
		t.Errorf("Get = %q, %v", got.Reveal(), err)
	}
	_, err = source.Get(t.Context(), "weather-key")
	if !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
	for _, want := range []string{`"weather-key" is not in`, "which has other, tracker-token"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source secret.File
		want   string
	}{
		"not configured": {"", "PATCHBAY_SECRETS_FILE"},
		"absent":         {secret.File(filepath.Join(t.TempDir(), "absent.json")), "reading secrets"},
		"not JSON":       {file(t, `{"a": hunter2}`), "JSON object whose values are strings (at byte 7)"},
		"not strings":    {file(t, `{"a": {"hunter2": 1}}`), "JSON object whose values are strings (at byte"},
		"no object":      {file(t, `null`), "JSON object whose values are strings"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := test.source.Get(t.Context(), "a")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error = %v, want %q", err, test.want)
			}
			if errors.Is(err, secret.ErrNotFound) || strings.Contains(err.Error(), "hunter") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestValueIsNeverShown(t *testing.T) {
	t.Parallel()
	value := secret.NewValue("hunter2")
	holder := struct{ Token, token secret.Value }{value, value}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", value, "holder", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "token", value, "holder", holder)
	encoded, err := json.Marshal(map[secret.Value]any{value: holder})
	if err != nil {
		t.Fatal(err)
	}
	if value.Reveal() != "hunter2" || (secret.Value{}).Reveal() != "" {
		t.Errorf("Reveal = %q and %q", value.Reveal(), (secret.Value{}).Reveal())
	}
	shown := []string{log.String(), string(encoded), value.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		for _, shape := range []any{value, holder, []secret.Value{value}} {
			shown = append(shown, fmt.Sprintf(verb, shape))
		}
	}
	for _, text := range shown {
		if strings.Contains(text, "hunter") || strings.Contains(strings.ToLower(text), "68756e746572") {
			t.Errorf("the secret is in %s", text)
		}
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	source := file(t, `{"a": "one"}`)
	cache := secret.NewCache(source, secret.CacheOptions{Now: func() time.Time { return now }})
	expect := func(want string) {
		t.Helper()
		if got, err := cache.Get(t.Context(), "a"); err != nil || got.Reveal() != want {
			t.Errorf("Get = %q, %v, want %q", got.Reveal(), err, want)
		}
	}
	if _, err := cache.Get(t.Context(), "b"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
	expect("one")
	if err := os.WriteFile(string(source), []byte(`{"a": "two", "b": "new"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := cache.Get(t.Context(), "b"); err != nil || got.Reveal() != "new" {
		t.Errorf("Get = %q, %v: the miss was remembered", got.Reveal(), err)
	}
	now = now.Add(secret.DefaultTTL - 1)
	expect("one")
	now = now.Add(1)
	expect("two")
}
