package benchmark

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"patchbay/scripts/localdb"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/localstack"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
)

// cold is one kind of process start: a function, and the event whose answer ends the time.
type cold struct {
	function locallambda.Function
	event    []byte
	// expect is a part of the answer.
	expect string
	times  []float64
}

// start is part (c): from the decision to start a process to the end of its first answer. Each is started in turn.
func (b *bench) start(ctx context.Context) error {
	s, err := b.startStand(ctx)
	if err != nil {
		return err
	}
	kinds, err := s.starts()
	if err != nil {
		return err
	}
	for i := range pick(b, 40, 10) {
		for j := range kinds {
			if err := s.measureStart(ctx, kinds[(i+j)%len(kinds)]); err != nil {
				return err
			}
		}
	}
	b.addStarts(kinds)
	return b.addParts(ctx, s)
}

// starts are the processes to compare: the bare one first.
func (s *stand) starts() ([]*cold, error) {
	discover, err := plain(mcp.MethodDiscover).event()
	if err != nil {
		return nil, err
	}
	call, err := callOf(toolName).event()
	if err != nil {
		return nil, err
	}
	dispatcher := locallambda.Function{
		Name: "started-dispatcher", Dir: filepath.Join(s.dir, "stack", "build", "dispatcher"),
		Timeout: 10 * time.Second, MemoryMB: 512,
		Env: s.dispatcher,
	}
	return []*cold{
		{function: s.bare(), event: discover, expect: structured},
		{function: dispatcher, event: discover, expect: `"supportedVersions"`},
		{function: dispatcher, event: call, expect: structured},
	}, nil
}

// bare is a function that does nothing but answer.
func (s *stand) bare() locallambda.Function {
	return locallambda.Function{
		Name: "started-bare", Dir: s.floorDir("bare"), Timeout: 10 * time.Second, MemoryMB: 512,
		Env: map[string]string{"BARE_FOR": "gateway", "BARE_ANSWER": s.answer},
	}
}

// measureStart deploys a version of its own, so that no instance of it runs yet, and invokes it.
func (s *stand) measureStart(ctx context.Context, c *cold) error {
	arn, err := s.stack.Lambda().Deploy(c.function)
	if err != nil {
		return err
	}
	began := time.Now()
	response, err := s.stack.Lambda().Invoke(ctx, arn, c.event)
	if err != nil {
		return fmt.Errorf("invoking %s: %w", arn, err)
	}
	answer, err := io.ReadAll(response.Body)
	c.times = append(c.times, float64(time.Since(began)))
	if err != nil || !bytes.Contains(answer, []byte(c.expect)) {
		return fmt.Errorf("%s answered %.500q (%w); expected is %s in it", arn, answer, err, c.expect)
	}
	return s.stack.Lambda().Remove(c.function.Name, version(arn))
}

func version(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

func (b *bench) addStarts(kinds []*cold) {
	const goal = 1.5
	bare := kinds[0]
	b.report.add(startRow("start to first server/discover", kinds[1], bare, goal))
	b.report.add(startRow("start to first tools/call", kinds[2], bare, 0))
}

func startRow(what string, measured, bare *cold, goal float64) Row {
	return Row{
		Part: "c", What: what, Unit: nanoseconds, Goal: goal,
		Measured: percentile(measured.times, 50), Rounds: measured.times,
		AnchorName: "bare function", Anchor: percentile(bare.times, 50), AnchorRounds: bare.times,
	}
}

// addParts measures what a first call does beside starting and answering: it reads the catalogue, and the tool runs.
func (b *bench) addParts(ctx context.Context, s *stand) error {
	var reads, calls []float64
	for range pick(b, 40, 10) {
		began := time.Now()
		reader := registry.NewReader(localdb.Client(s.stack.DatabaseURL), localstack.Table, registry.ReaderOptions{})
		if _, err := reader.Lookup(ctx, toolName); err != nil {
			return err
		}
		reads = append(reads, float64(time.Since(began)))
		began = time.Now()
		if _, err := post(ctx, http.DefaultClient, s.stack.URL, callOf(toolName)); err != nil {
			return err
		}
		calls = append(calls, float64(time.Since(began)))
	}
	for _, row := range []Row{
		{What: "of that: reading the catalogue, cold", Rounds: reads},
		{What: "of that: a warm call", Rounds: calls},
	} {
		row.Part, row.Unit, row.Measured = "c", nanoseconds, percentile(row.Rounds, 50)
		b.report.add(row)
	}
	return nil
}
