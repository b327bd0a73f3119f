package benchmark

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// load is how a warm call is measured.
type load struct {
	clients int
	// rounds is how often the stack and the floor take turns, and requests what all clients together send in a turn.
	rounds, requests int
}

// warm is part (b).
func (b *bench) warm(ctx context.Context) error {
	s, err := b.startStand(ctx)
	if err != nil {
		return err
	}
	loads := pick(b,
		[]load{{clients: 1, rounds: 30, requests: 300}, {clients: 8, rounds: 30, requests: 400}},
		[]load{{clients: 1, rounds: 8, requests: 200}, {clients: 8, rounds: 8, requests: 240}})
	for _, l := range loads {
		stack, floor, err := takeTurns(ctx, l,
			newSide(s.stack.URL, s.answer, "", l.clients), newSide(s.floorURL, s.answer, "", l.clients))
		if err != nil {
			return err
		}
		b.addLatencies(l.clients, 50, 1.15, stack, floor)
		b.addLatencies(l.clients, 99, 1.3, stack, floor)
	}
	return nil
}

// addLatencies adds the row of one percentile.
func (b *bench) addLatencies(clients, p int, goal float64, stack, floor [][]float64) {
	row := latencies(p, stack, floor)
	row.Part, row.What, row.Goal = "b", fmt.Sprintf("warm call, %s, p%d", plural(clients, "client"), p), goal
	row.AnchorName = "two bare hops"
	b.report.add(row)
}

// latencies is a row of one percentile. It is taken in every round by itself, and the median of the rounds counts: a
// moment in which the machine was busy spoils a round and not the figure.
func latencies(p int, measured, anchor [][]float64) Row {
	each := func(rounds [][]float64) []float64 {
		figures := make([]float64, 0, len(rounds))
		for _, round := range rounds {
			figures = append(figures, percentile(round, p))
		}
		return figures
	}
	row := Row{Unit: nanoseconds, Rounds: each(measured), AnchorRounds: each(anchor)}
	row.Measured, row.Anchor = percentile(row.Rounds, 50), percentile(row.AnchorRounds, 50)
	return row
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// takeTurns measures two sides in turns, each beginning as often as the other, and returns the latencies of every
// round.
func takeTurns(ctx context.Context, l load, one, other *side) (first, second [][]float64, err error) {
	sides := []*side{one, other}
	for _, side := range sides {
		defer side.client.CloseIdleConnections()
		if _, err := side.round(ctx, l); err != nil { // the instances start
			return nil, nil, err
		}
	}
	for i := range l.rounds {
		for j := range sides {
			if err := sides[(i+j)%2].measure(ctx, l); err != nil {
				return nil, nil, err
			}
		}
	}
	return sides[0].rounds, sides[1].rounds, nil
}

// side is one of the two that are compared.
type side struct {
	url, answer string
	call        message
	client      *http.Client
	rounds      [][]float64
}

// newSide returns a side that is called with a token; "" where none is asked for.
func newSide(url, answer, token string, clients int) *side {
	call := callOf(toolName)
	call.token = token
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	return &side{url: url, answer: answer, call: call, client: client}
}

func (s *side) measure(ctx context.Context, l load) error {
	latencies, err := s.round(ctx, l)
	s.rounds = append(s.rounds, latencies)
	return err
}

// round sends the requests of one turn and returns the latency of each in nanoseconds.
func (s *side) round(ctx context.Context, l load) ([]float64, error) {
	each := l.requests / l.clients
	latencies := make([]float64, each*l.clients)
	group, ctx := errgroup.WithContext(ctx)
	for client := range l.clients {
		group.Go(func() error { return s.calls(ctx, latencies[client*each:(client+1)*each]) })
	}
	return latencies, group.Wait()
}

func (s *side) calls(ctx context.Context, latencies []float64) error {
	for i := range latencies {
		began := time.Now()
		answer, err := post(ctx, s.client, s.url, s.call)
		if err != nil {
			return err
		}
		latencies[i] = float64(time.Since(began))
		if answer != s.answer {
			return fmt.Errorf("%s answered %.500s; expected is %s", s.url, answer, s.answer)
		}
	}
	return nil
}

// post sends a message and returns the body of its answer.
func post(ctx context.Context, client *http.Client, url string, m message) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(m.body))
	if err != nil {
		return "", fmt.Errorf("making a request: %w", err)
	}
	request.Header = m.header()
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answered with status %d: %.500s", url, response.StatusCode, body)
	}
	return string(body), nil
}
