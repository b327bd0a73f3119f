package benchmark

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/scripts/localdb"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
)

// counts are how many tools a catalogue has; the first is the anchor of the others.
var counts = []int{10, 1000, 10_000}

// catalogues is part (e): the handler over the registry's reader, which has read everything that it needs.
func (b *bench) catalogues(ctx context.Context) error {
	engine, err := b.startEngine(ctx)
	if err != nil {
		return err
	}
	defer engine.Close()
	var calls, lists []func() error
	for _, n := range counts {
		fmt.Fprintf(b.Progress, "publishing %d tools\n", n)
		handler, err := published(ctx, localdb.Client(engine.URL), n)
		if err != nil {
			return err
		}
		call, err := served(handler, callOf(numbered(n/2)), structured)
		if err != nil {
			return err
		}
		list, err := served(handler, plain(mcp.MethodToolsList), numbered(0))
		if err != nil {
			return err
		}
		calls, lists = append(calls, call), append(lists, list)
	}
	if err := b.addSizes(ctx, "call", 1.05, calls); err != nil {
		return err
	}
	return b.addSizes(ctx, "first page of the list", 0, lists)
}

// published returns a handler over a catalogue of n tools.
func published(ctx context.Context, db *dynamodb.Client, n int) (http.Handler, error) {
	table := fmt.Sprintf("bench-%d", n)
	if err := registry.CreateTable(ctx, db, table); err != nil {
		return nil, err
	}
	all, err := tools(n)
	if err != nil {
		return nil, err
	}
	publications := make([]registry.Publication, 0, n)
	for _, tool := range all {
		publications = append(publications, registry.Publication{Tool: tool, Function: functionARN})
	}
	publisher := registry.NewPublisher(db, table, registry.PublisherOptions{})
	if _, err := publisher.Publish(ctx, "bench", publications); err != nil {
		return nil, err
	}
	// HEAD is not to be read again in the midst of a measurement.
	return newEndpoint(registry.NewReader(db, table, registry.ReaderOptions{MaxAge: time.Hour}))
}

func (b *bench) addSizes(ctx context.Context, what string, goal float64, operations []func() error) error {
	costs, err := compare(ctx, pick(b, effort{400, 5e6}, effort{150, 4e6}), operations...)
	if err != nil {
		return err
	}
	for i, n := range counts[1:] {
		row := Row{
			Part: "e", What: fmt.Sprintf("%s, %d tools", what, n), Unit: nanoseconds, Measured: costs[i+1].nanoseconds,
			AnchorName: fmt.Sprintf("%d tools", counts[0]), Anchor: costs[0].nanoseconds, Goal: goal,
		}
		b.report.add(row)
	}
	return nil
}
