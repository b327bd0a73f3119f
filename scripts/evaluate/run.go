package evaluate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"patchbay/scripts/mcpcall"
	"patchbay/shared/nearest"
)

// Caller makes calls; an *mcpcall.Client does. The error is a *mcpcall.Refusal where a request is refused.
type Caller interface {
	Call(ctx context.Context, call mcpcall.Call) (mcpcall.Answer, error)
}

// Options say how cases are run.
type Options struct {
	// ReadOnly are the tools that the server lists, and whether each says that it only reads.
	ReadOnly map[string]bool
	// Permissions are the scopes that tools ask for, of those whose contracts are known.
	Permissions map[string][]string
	// Writes: cases may also call tools that do not say that they only read.
	Writes bool
	// Chosen tells which cases run, by name; nil runs all.
	Chosen func(name string) bool
	// Timeout bounds one call; 0 means two minutes.
	Timeout time.Duration
	// Tell gets each case when it has ended, with the file it is from; nil drops it.
	Tell func(File, CaseReport)
}

// Run runs the cases of the files one after another. The error is that of ctx; what failed is in the report.
func Run(ctx context.Context, caller Caller, files []File, options Options) (Report, error) {
	if options.Timeout == 0 {
		options.Timeout = 2 * time.Minute
	}
	r := &runner{Options: options, caller: caller, run: strings.ToLower(rand.Text()[:12])}
	var report Report
	for _, file := range files {
		tool := ToolReport{Tool: file.Tool, File: file.Path}
		for _, c := range file.Cases {
			if options.Chosen != nil && !options.Chosen(c.Name) {
				continue
			}
			one := r.runCase(ctx, c)
			if err := ctx.Err(); err != nil {
				return report, fmt.Errorf("running %s: %w", file.Path, err)
			}
			tool.add(one)
			if options.Tell != nil {
				options.Tell(file, one)
			}
		}
		if len(tool.Cases) > 0 {
			report.add(tool)
		}
	}
	return report, nil
}

type runner struct {
	Options

	caller Caller
	// run is what no other run has.
	run string
}

func (r *runner) runCase(ctx context.Context, c Case) CaseReport {
	report := CaseReport{Name: c.Name, Line: c.Line, Outcome: Passed}
	for _, step := range c.Steps {
		if reason, fault := r.obstacle(step); fault != "" {
			report.fail(step, []mismatch{{"call", fault}})
			return report
		} else if reason != "" {
			report.skip(reason)
			return report
		}
	}
	known := values{placeholderRun: r.run, placeholderNow: time.Now().UTC().Format(time.RFC3339)}
	for _, step := range c.Steps {
		if faults := r.runStep(ctx, &report, step, known); len(faults) > 0 {
			report.fail(step, faults)
			break
		}
		if report.Outcome == Skipped {
			break
		}
	}
	return report
}

// obstacle says why a step cannot run here, and whether that is a fault.
func (r *runner) obstacle(step Step) (reason, fault string) {
	readOnly, listed := r.ReadOnly[step.Tool]
	switch {
	case listed && !readOnly && !r.Writes:
		return step.Tool + " does not say that it only reads, and such tools are called by --writes", ""
	case listed:
		return "", ""
	case len(r.Permissions[step.Tool]) > 0:
		return fmt.Sprintf("%s asks for the permissions %s, and this caller does not see it", step.Tool,
			strings.Join(r.Permissions[step.Tool], ", ")), ""
	case step.Expect.Refused != nil:
		return "", ""
	}
	if near := nearest.Name(step.Tool, slices.Sorted(maps.Keys(r.ReadOnly))); near != "" {
		return "", fmt.Sprintf("the server has no such tool; did you mean %s?", near)
	}
	return "", "the server has no such tool"
}

// runStep makes the step's calls and keeps what it saves.
func (r *runner) runStep(ctx context.Context, report *CaseReport, step Step, known values) []mismatch {
	step, err := known.fillStep(step)
	if err != nil {
		return []mismatch{{"step", err.Error()}}
	}
	for i := range step.Repeat {
		answer, faults := r.callOnce(ctx, report, step)
		if len(faults) > 0 {
			if step.Repeat > 1 {
				faults[0].text += fmt.Sprintf(" (call %d of %d)", i+1, step.Repeat)
			}
			return faults
		}
		if report.Outcome == Skipped {
			return nil
		}
		if i < step.Repeat-1 || len(step.Save) == 0 {
			continue
		}
		if faults := known.save(step.Save, answer); len(faults) > 0 {
			return faults
		}
	}
	return nil
}

// callOnce makes one call and compares what comes back.
func (r *runner) callOnce(ctx context.Context, report *CaseReport, step Step) (mcpcall.Answer, []mismatch) {
	call := mcpcall.Call{Tool: step.Tool, Key: step.Key, Arguments: json.RawMessage(`{}`)}
	if step.Arguments != nil {
		call.Arguments = json.RawMessage(asJSON(step.Arguments))
	}
	person := &person{step: step}
	if step.attended() {
		call.Ask = person.ask
	}
	if step.Expect.MinProgress > 0 {
		call.Progress = func(mcpcall.Progress) {}
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	began := time.Now()
	answer, err := r.caller.Call(ctx, call)
	took := time.Since(began)
	report.called(took, len(answer.Result))
	var refusal *mcpcall.Refusal
	switch {
	case errors.As(err, &refusal) && lacksRights(refusal) && !step.Expect.wantsDenial(refusal):
		report.skip(fmt.Sprintf("this caller may not call %s: %s", step.Tool, refusal))
		return answer, nil
	case errors.As(err, &refusal):
		return answer, compareRefusal(step.Expect, refusal)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return answer, []mismatch{{"call", fmt.Sprintf("no answer within %s", r.Timeout)}}
	case err != nil:
		return answer, []mismatch{{"call", err.Error()}}
	}
	return answer, append(compare(step.Expect, answer), person.compare()...)
}

// lacksRights reports whether a request is refused for what the caller's token is, and not for what it asks: another
// caller's would go through. Sources: RFC 6750, section 3.1; RFC 9470, section 3.
func lacksRights(refusal *mcpcall.Refusal) bool {
	return refusal.Challenge.Error == "insufficient_scope" ||
		refusal.Challenge.Error == "insufficient_user_authentication"
}

// wantsDenial reports whether a step is about a refusal for lack of rights, rather than about what comes after it.
func (e Expect) wantsDenial(refusal *mcpcall.Refusal) bool {
	return e.Refused != nil && (e.Refused.Status == refusal.Status || len(compareRefusal(e, refusal)) == 0)
}

// person answers as a step says, and remembers what was asked.
type person struct {
	step  Step
	asked []string
	used  int
	// confirmed: the person was asked whether the call may run.
	confirmed bool
}

func (p *person) ask(_ context.Context, question mcpcall.Question) (mcpcall.Reply, error) {
	p.asked = append(p.asked, question.Message)
	if p.step.Confirm != "" && question.IsConfirmation() {
		p.confirmed = true
		if p.step.Confirm == mcpcall.Accept {
			return mcpcall.Confirm(), nil
		}
		return mcpcall.Reply{Action: p.step.Confirm}, nil
	}
	if p.used >= len(p.step.Answers) {
		return mcpcall.Reply{}, fmt.Errorf("the step has no answer to the question %q", question.Message)
	}
	reply := p.step.Answers[p.used]
	p.used++
	// The SDK tells apart an empty form and none.
	if reply.Action == mcpcall.Accept && reply.Content == nil {
		reply.Content = map[string]any{}
	}
	return mcpcall.Reply{Action: reply.Action, Content: reply.Content}, nil
}

// compare says which answers nobody asked for.
func (p *person) compare() []mismatch {
	var all []mismatch
	if p.step.Confirm != "" && !p.confirmed {
		all = append(all, mismatch{"confirm", "nobody was asked to confirm the call"})
	}
	if left := len(p.step.Answers) - p.used; left > 0 {
		all = append(all, mismatch{"answers", fmt.Sprintf("nobody asked for %d of them", left)})
	}
	if p.step.Expect.Asked != nil {
		all = append(all, matchText("asked", p.step.Expect.Asked, strings.Join(p.asked, "\n"))...)
	}
	return all
}

// fillStep replaces the placeholders of a step.
func (v values) fillStep(step Step) (Step, error) {
	var faults []error
	fill := func(value any) any {
		filled, err := v.fill(value)
		faults = append(faults, err)
		return filled
	}
	if step.Arguments != nil {
		step.Arguments, _ = fill(step.Arguments).(map[string]any)
	}
	if step.Key != "" {
		step.Key = plainText(fill(step.Key))
	}
	step.Answers = slices.Clone(step.Answers)
	for i, reply := range step.Answers {
		if reply.Content != nil {
			step.Answers[i].Content, _ = fill(reply.Content).(map[string]any)
		}
	}
	for _, expected := range []*any{
		&step.Expect.Result, &step.Expect.Content, &step.Expect.Meta, &step.Expect.Text, &step.Expect.Asked,
	} {
		*expected = fill(*expected)
	}
	return step, errors.Join(faults...)
}

// save takes values out of a result.
func (v values) save(savings []Saving, answer mcpcall.Answer) []mismatch {
	structured, err := decode(answer.Structured)
	if err != nil {
		return []mismatch{{"result", err.Error()}}
	}
	var all []mismatch
	for _, saving := range savings {
		if saving.Pattern != nil {
			found := saving.Pattern.FindStringSubmatch(answer.Text)
			if found == nil {
				all = append(all, mismatch{"save/" + saving.Name,
					fmt.Sprintf("the text does not match %s: %s", saving.Pattern, shown(answer.Text))})
				continue
			}
			v[saving.Name] = found[min(1, len(found)-1)]
			continue
		}
		value, there := resolve(structured, saving.Pointer)
		if _, missing := structured.(absent); missing || !there {
			all = append(all, mismatch{"save/" + saving.Name,
				fmt.Sprintf("the result has no %s: %s", saving.Pointer, shown(structured))})
			continue
		}
		v[saving.Name] = value
	}
	return all
}

// decode reads a value with exact numbers; no text is what is not there.
func decode(text json.RawMessage) (any, error) {
	if text == nil {
		return absent{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("decoding it: %w", err)
	}
	return value, nil
}

// compare says what of a result is not as expected.
func compare(expect Expect, answer mcpcall.Answer) []mismatch {
	if expect.Refused != nil {
		return []mismatch{{"call", "it was not refused: " + shownResult(answer)}}
	}
	if all := compareError(expect, answer); len(all) > 0 {
		return all
	}
	var all []mismatch
	for _, part := range []struct {
		name   string
		wanted any
		got    json.RawMessage
	}{
		{"result", expect.Result, answer.Structured},
		{"content", expect.Content, contentOf(answer)},
		{"meta", expect.Meta, answer.Meta},
	} {
		if part.wanted == nil {
			continue
		}
		got, err := decode(part.got)
		if err != nil {
			all = append(all, mismatch{part.name, err.Error()})
			continue
		}
		all = append(all, match(part.name, part.wanted, got)...)
	}
	if expect.Text != nil {
		all = append(all, matchText("text", expect.Text, answer.Text)...)
	}
	if expect.MinProgress > answer.Reports {
		all = append(all, mismatch{"progress",
			fmt.Sprintf("%d reports, want at least %d", answer.Reports, expect.MinProgress)})
	}
	if size := len(answer.Result); expect.MaxResultBytes > 0 && size > expect.MaxResultBytes {
		all = append(all, mismatch{"result", fmt.Sprintf("%d bytes, want at most %d", size, expect.MaxResultBytes)})
	}
	return all
}

func compareError(expect Expect, answer mcpcall.Answer) []mismatch {
	switch {
	case answer.IsError && !expect.IsError:
		return []mismatch{{"call", "it ended in an error: " + shownResult(answer)}}
	case !answer.IsError && expect.IsError:
		return []mismatch{{"call", "it ended in no error: " + shownResult(answer)}}
	case expect.Failure != "" && expect.Failure != answer.Failure:
		return []mismatch{{"error", fmt.Sprintf("%q, want %q: %s", answer.Failure, expect.Failure, shownResult(answer))}}
	}
	return nil
}

func contentOf(answer mcpcall.Answer) json.RawMessage {
	text, err := json.Marshal(answer.Content)
	if err != nil {
		return nil
	}
	return text
}

func shownResult(answer mcpcall.Answer) string {
	if answer.Text != "" {
		return shown(answer.Text)
	}
	return shown(answer.Result)
}

func compareRefusal(expect Expect, refusal *mcpcall.Refusal) []mismatch {
	if expect.Refused == nil {
		return []mismatch{{"call", refusal.Error()}}
	}
	var all []mismatch
	if wanted := expect.Refused.Status; wanted != 0 && wanted != refusal.Status {
		all = append(all, mismatch{"refused/status", fmt.Sprintf("%d, want %d: %s", refusal.Status, wanted, refusal)})
	}
	if wanted := expect.Refused.Code; wanted != 0 && wanted != refusal.Code {
		all = append(all, mismatch{"refused/code", fmt.Sprintf("%d, want %d: %s", refusal.Code, wanted, refusal)})
	}
	if wanted := expect.Refused.Text; !strings.Contains(refusal.Error(), wanted) {
		all = append(all, mismatch{"refused/text", fmt.Sprintf("does not have %q: %s", wanted, refusal)})
	}
	return all
}
