package tool

import (
	"context"
	"io"
	"log/slog"
	"math"
	"sync"
	"time"

	"patchbay/shared/invoke"
)

// At most progressBurst reports are sent in each progressWindow; of more only the newest goes out, when the next window
// begins. Source: MCP 2026-07-28, basic/patterns/progress: "Both parties SHOULD implement rate limiting".
const (
	progressBurst  = 20
	progressWindow = time.Second
)

// Progress tells the client how far the call has come; total is the value at the end, or 0 when unknown, and the
// message says for people what is happening. It does nothing when the client did not ask for progress or the contract's
// execution does not say "streaming". Progress must increase with every report (MCP 2026-07-28,
// basic/patterns/progress): one that does not is dropped. It may be called from several goroutines, and blocks only
// while the answer's reader is slower.
func Progress(ctx context.Context, progress, total float64, message string) {
	current, ok := ctx.Value(callKey{}).(*current)
	if !ok || current.progress == nil {
		return
	}
	current.progress.report(invoke.Progress{Progress: progress, Total: finite(total), Message: message})
}

// finite returns 0, which means unknown, for numbers that JSON does not have.
func finite(total float64) float64 {
	if math.IsNaN(total) || math.IsInf(total, 0) {
		return 0
	}
	return total
}

// withProgress makes Progress in this context write to lines.
func withProgress(ctx context.Context, lines *progress) context.Context {
	of := *ctx.Value(callKey{}).(*current)
	of.progress = lines
	return context.WithValue(ctx, callKey{}, &of)
}

// progress writes the lines of one streamed answer.
type progress struct {
	out io.Writer
	log *slog.Logger

	mu      sync.Mutex
	started bool    // there was a report
	last    float64 // its progress
	warned  bool
	ended   bool

	window  time.Time // when the current window began
	sent    int       // reports written in it
	waiting *invoke.Progress
	timer   *time.Timer
}

func (p *progress) report(report invoke.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if math.IsInf(report.Progress, 0) || math.IsNaN(report.Progress) || p.started && report.Progress <= p.last {
		p.warn(report.Progress)
		return
	}
	p.started, p.last = true, report.Progress
	if now := time.Now(); now.Sub(p.window) >= progressWindow {
		p.window, p.sent = now, 0
	}
	if p.sent < progressBurst {
		p.waiting = nil
		p.sent++
		p.write(invoke.Line{Progress: &report})
		return
	}
	p.hold(report)
}

// warn logs the first report that was dropped; a handler that does it once does it often.
func (p *progress) warn(dropped float64) {
	if p.warned {
		return
	}
	p.warned = true
	p.log.Warn("progress that does not increase is not sent", "progress", dropped, "last", p.last)
}

// hold keeps the newest report until the next window begins or the call ends.
func (p *progress) hold(report invoke.Progress) {
	if p.waiting == nil {
		p.timer = time.AfterFunc(time.Until(p.window.Add(progressWindow)), p.flush)
	}
	p.waiting = &report
}

func (p *progress) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeWaiting()
}

func (p *progress) writeWaiting() {
	if p.waiting == nil {
		return
	}
	report := p.waiting
	p.waiting = nil
	p.sent++
	p.write(invoke.Line{Progress: report})
}

// finish writes what is waiting and the result, after which nothing is written. There is no result after a defect.
func (p *progress) finish(result []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.writeWaiting()
	p.ended = true
	if result != nil {
		p.write(invoke.Line{Result: result})
	}
}

// write leaves errors alone: the only one is that the reader has gone, and then the answer has nobody to go to.
func (p *progress) write(line invoke.Line) {
	raw, err := encode(line)
	if err != nil {
		p.log.Error("encoding a line of the answer", "error", err.Error())
		return
	}
	_, _ = p.out.Write(append(raw, '\n'))
}
