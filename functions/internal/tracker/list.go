package tracker

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
)

const (
	// pageSize is what is asked for; the API may answer with smaller pages.
	pageSize = 100
	// maxPages bounds a walk, whatever the API says of its length. The call's deadline bounds it as well.
	maxPages = 200
)

// page is one page of a list.
type page[T any] struct {
	Data    []T `json:"data"`
	Page    int `json:"page"`
	PerPage int `json:"per_page"`
	Total   int `json:"total"`
}

func (p page[T]) last() bool { return len(p.Data) == 0 || p.Page*p.PerPage >= p.Total }

// identified is an item of a list.
type identified interface{ identity() string }

// pages walks a list from the given page on. Pages are cut anew for every request: when something was added meanwhile,
// an item shows up on two pages, and comes out of here once; when something was removed, an item may be skipped, which
// callers to whom it matters see by a changed Total.
func pages[T identified](ctx context.Context, c *Client, path []string, query url.Values, from int,
) iter.Seq2[page[T], error] {
	return func(yield func(page[T], error) bool) {
		seen := map[string]bool{}
		for number := from; number < from+maxPages; number++ {
			got, err := onePage[T](ctx, c, path, query, number)
			if err != nil {
				yield(got, err)
				return
			}
			last, had := got.last(), len(got.Data)
			got.Data = slices.DeleteFunc(got.Data, func(item T) bool { return repeated(seen, item.identity()) })
			if had > 0 && len(got.Data) == 0 {
				yield(got, malformed(ctx, path, fmt.Errorf("page %d repeats earlier pages", number)))
				return
			}
			if !yield(got, nil) || last {
				return
			}
		}
		yield(page[T]{}, malformed(ctx, path, fmt.Errorf("the list has more than %d pages", maxPages)))
	}
}

func repeated(seen map[string]bool, id string) bool {
	before := seen[id]
	seen[id] = true
	return before
}

func onePage[T any](ctx context.Context, c *Client, path []string, query url.Values, number int) (page[T], error) {
	asked := url.Values{"page": {strconv.Itoa(number)}, "per_page": {strconv.Itoa(pageSize)}}
	for name, values := range query {
		asked[name] = values
	}
	var got page[T]
	if err := c.get(ctx, path, asked, &got); err != nil {
		return got, err
	}
	if got.Page != number || got.PerPage < 1 {
		return got, malformed(ctx, path, fmt.Errorf("asked for page %d, got page %d of %d items", number, got.Page,
			got.PerPage))
	}
	return got, nil
}
