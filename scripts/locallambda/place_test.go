package locallambda

import (
	"fmt"
	"strings"
	"testing"
)

// A service stands for the account and the region that it is told.
func TestPlace(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{Region: "eu-west-1", Account: "123456789012"})
	const function = "arn:aws:lambda:eu-west-1:123456789012:function:careless"
	if arn := h.deploy("careless", Function{}); arn != function+":1" {
		t.Errorf("deployed as %s", arn)
	}
	if err := h.Alias("careless", "live", "1"); err != nil {
		t.Fatal(err)
	}
	said := h.result(function+":live", `{"do":"describe"}`)
	if said["arn"] != function+":live" || !strings.Contains(fmt.Sprint(said["environment"]), "AWS_REGION=eu-west-1 ") {
		t.Errorf("the function sees %v", said)
	}
	place := h.options.place()
	if _, err := place.target(function, ""); err != nil {
		t.Error(err)
	}
	elsewhere := "arn:aws:lambda:" + Region + ":" + Account + ":function:careless"
	if to, err := place.target(elsewhere, ""); err == nil {
		t.Errorf("%s is %v", elsewhere, to)
	}
}
