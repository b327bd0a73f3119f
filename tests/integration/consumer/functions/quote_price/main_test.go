package main

import (
	"testing"

	"patchbay/shared/tool/tooltest"
)

func TestQuote(t *testing.T) {
	list, err := openPrices(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	handler := quote(list)
	tooltest.Check(t, handler)
	got, err := handler(t.Context(), input{SKU: "LAMP-1", Quantity: 3})
	if want := (output{"LAMP-1", 3, 7470}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := handler(t.Context(), input{SKU: "LAMP-2", Quantity: 1}); err == nil {
		t.Error("an article that does not exist has a price")
	}
}
