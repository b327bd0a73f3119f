package xray_test

import (
	"context"
	"testing"

	"patchbay/shared/xray"
)

const id = "1-67891233-abcdef012345678912345678"

func TestRoot(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Root=" + id: id,
		"Self=1-67891234-12456789abcdef012345678a;Root=" + id: id,
		"Root=" + id + ";Parent=53995c3f42cd8ad8;Sampled=1":   id,
		"Parent=53995c3f42cd8ad8; Root=" + id:                 id,
		"":                                                    "",
		"Parent=53995c3f42cd8ad8":                             "",
		id:                                                    "",
		"Root=1-67891233-abcdef01234567891234":                "",
		"Root=2-67891233-abcdef012345678912345678":            "",
		"Root=1-67891233-abcdef01234567891234567\n":           "",
		"Root=1-67891233_abcdef012345678912345678":            "",
		"Root=1-6789123x-abcdef012345678912345678":            "",
		"Root=1-67891233-abcdef012345678912345678,":           "",
	} {
		if got := xray.Root(header); got != want {
			t.Errorf("Root(%q) = %q, want %q", header, got, want)
		}
	}
}

func TestFromContext(t *testing.T) {
	t.Parallel()
	if got := xray.FromContext(t.Context()); got != "" {
		t.Errorf("without an invocation: %q", got)
	}
	//lint:ignore SA1029 this is the key that aws-lambda-go uses
	ctx := context.WithValue(t.Context(), "x-amzn-trace-id", "Root="+id+";Sampled=0")
	if got := xray.FromContext(ctx); got != id {
		t.Errorf("got %q, want %q", got, id)
	}
}
