// Command json_schema_2020_12_tool is the conformance suite's tool whose schema uses much of JSON Schema 2020-12.
package main

import (
	"context"
	"fmt"

	"patchbay/shared/tool"
)

type input struct {
	Name    string `json:"name"`
	Address struct {
		Street string `json:"street"`
		City   string `json:"city"`
	} `json:"address"`
	ContactMethod string `json:"contactMethod"`
	Phone         string `json:"phone"`
	Email         string `json:"email"`
}

func echo(_ context.Context, in input) (string, error) {
	return fmt.Sprintf("%s of %s, phone %q, e-mail %q", in.Name, in.Address.City, in.Phone, in.Email), nil
}

func main() { tool.Serve(echo) }
