// Command quote_price is a tool that tells what articles cost.
package main

import (
	"context"
	"log/slog"
	"os"

	"patchbay/shared/tool"
)

// tableVariable names the table with the price list, which this module's own stack makes and lets the tool read.
const tableVariable = "PRICES_TABLE"

type input struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

type output struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"`
}

// prices tells the cents of one piece, or that there is no such article.
type prices interface {
	Cents(ctx context.Context, sku string) (cents int, known bool, err error)
}

func main() {
	list, err := openPrices(context.Background(), os.Getenv(tableVariable))
	if err != nil {
		slog.Error("opening the price list", "error", err.Error())
		os.Exit(1)
	}
	tool.Serve(quote(list))
}

func quote(list prices) func(context.Context, input) (output, error) {
	return func(ctx context.Context, in input) (output, error) {
		cents, known, err := list.Cents(ctx, in.SKU)
		if err != nil {
			return output{}, err
		}
		if !known {
			return output{}, tool.Fail("unknown_article", "No article has the number %s; ask for the one on its label.", in.SKU)
		}
		return output{in.SKU, in.Quantity, in.Quantity * cents}, nil
	}
}
