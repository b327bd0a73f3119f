// Command create_basket is a tool that makes an empty basket and returns the handle by which other calls find it.
package main

import (
	"context"
	"fmt"
	"os"

	"patchbay/functions/internal/basket"
	"patchbay/shared/tool"
)

type input struct{}

type output struct {
	BasketID string `json:"basket_id"`
}

func main() {
	baskets, err := basket.Open(os.Getenv)
	if err != nil {
		tool.Stop(fmt.Errorf("opening the baskets: %w", err))
	}
	tool.Serve(create(baskets))
}

func create(baskets *basket.Baskets) func(context.Context, input) (output, error) {
	return func(ctx context.Context, _ input) (output, error) {
		id, err := baskets.Create(ctx)
		return output{BasketID: id}, err
	}
}
