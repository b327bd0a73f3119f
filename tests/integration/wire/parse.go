package wire

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Revision is the protocol revision of the requests that "call" and "send" make.
const Revision = "2026-07-28"

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

type parser struct {
	file  string
	cases []*Case
}

func parse(file, text string) ([]*Case, error) {
	p := &parser{file: file}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := p.line(i+1, line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	for _, c := range p.cases {
		if err := c.complete(); err != nil {
			return nil, fmt.Errorf("%s:%d: case %q: %w", file, c.Line, c.Name, err)
		}
	}
	return p.cases, nil
}

// complete reports what a case lacks.
func (c *Case) complete() error {
	if c.Level == "" || c.Source == "" {
		return errors.New("no spec or policy line")
	}
	if len(c.Steps) == 0 {
		return errors.New("no request")
	}
	for _, s := range c.Steps {
		if !s.want.complete() {
			return fmt.Errorf("the request in line %d has no expect line with statuses", s.line)
		}
	}
	return nil
}

func (p *parser) line(number int, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	if word == "case" {
		p.cases = append(p.cases, &Case{Name: rest, File: p.file, Line: number})
		return nil
	}
	if len(p.cases) == 0 {
		return fmt.Errorf("%q before the first case", word)
	}
	c := p.cases[len(p.cases)-1]
	if word == "spec" || word == "policy" {
		c.Level, c.Source = word, rest
		return nil
	}
	if begin, ok := requests[word]; ok {
		step, err := begin(rest)
		if err != nil {
			return err
		}
		step.line = number
		c.Steps = append(c.Steps, step)
		return nil
	}
	if len(c.Steps) == 0 {
		return fmt.Errorf("%q before the first request of the case", word)
	}
	return c.Steps[len(c.Steps)-1].directive(word, rest)
}

// requests begin a step.
var requests = map[string]func(rest string) (*Step, error){
	"call": parseCall,
	"send": parseSend,
	"old":  parseOld,
	"http": func(rest string) (*Step, error) {
		s := newStep()
		s.verb, s.version = rest, Revision
		return s, nil
	},
}

func parseCall(rest string) (*Step, error) {
	name, arguments, _ := strings.Cut(rest, " ")
	s := modernStep("tools/call")
	s.setParam("name", strconv.Quote(name))
	if arguments == "" {
		return s, nil
	}
	return s, s.setJSONParam("arguments", arguments)
}

func parseSend(rest string) (*Step, error) {
	method, params, _ := strings.Cut(rest, " ")
	s := modernStep(method)
	return s, s.addParams(params)
}

func parseOld(rest string) (*Step, error) {
	fields := strings.SplitN(rest, " ", 3)
	if len(fields) < 2 {
		return nil, fmt.Errorf("old %s: want a version and a method", rest)
	}
	s := newStep()
	s.verb, s.rpc, s.id = "POST", fields[1], "1"
	if fields[0] != "-" {
		s.version = fields[0]
	}
	if len(fields) == 3 {
		return s, s.addParams(fields[2])
	}
	return s, nil
}

func (s *Step) addParams(object string) error {
	if object == "" {
		return nil
	}
	s.hasParams = true
	members, err := objectMembers(object)
	for _, m := range members {
		s.setParam(m.key, m.value)
	}
	return err
}

// directive adds one line after the request line to the step.
func (s *Step) directive(word, rest string) error {
	if at, ok := strings.CutPrefix(word, "match@"); ok {
		index, err := strconv.Atoi(at)
		if err != nil {
			return fmt.Errorf("%s: want match@ and a number", word)
		}
		return s.want.addMatch(index, rest)
	}
	if change, ok := changes[word]; ok {
		return change(s, rest)
	}
	if expectation, ok := expectations[word]; ok {
		return expectation(&s.want, rest)
	}
	return fmt.Errorf("unknown directive %q", word)
}

// changes alter the request of a step.
var changes = map[string]func(s *Step, rest string) error{
	"id": func(s *Step, rest string) error {
		s.id = strings.TrimPrefix(rest, "none")
		return nil
	},
	"version": func(s *Step, rest string) error {
		s.version = rest
		s.meta[metaVersion] = strconv.Quote(rest)
		return nil
	},
	"meta":  (*Step).parseMeta,
	"param": (*Step).parseParam,
	"header": func(s *Step, rest string) error {
		return s.editHeader(rest, true)
	},
	"header+": func(s *Step, rest string) error {
		return s.editHeader(rest, false)
	},
	"header-": func(s *Step, rest string) error {
		s.edits = append(s.edits, headerEdit{name: rest, drop: true, skip: true})
		return nil
	},
	"body": func(s *Step, rest string) error {
		s.body = []byte(strings.ReplaceAll(rest, "${META}", metaText(defaultMeta())))
		return nil
	},
	"hex": func(s *Step, rest string) (err error) {
		s.body, err = hex.DecodeString(rest)
		return err
	},
	"repeat": func(s *Step, rest string) error {
		count, text, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(count)
		s.body = []byte(strings.Repeat(text, n))
		return err
	},
	"at": func(s *Step, rest string) error {
		s.target = rest
		return nil
	},
	"mutate": func(s *Step, rest string) error {
		name, how, _ := strings.Cut(rest, " ")
		s.mutations[name] = how
		return nil
	},
}

func (s *Step) parseMeta(rest string) error {
	key, value, _ := strings.Cut(rest, " ")
	switch {
	case key == "=":
		s.metaText = &value
		return nil
	case value == "-":
		delete(s.meta, key)
		return nil
	case !json.Valid([]byte(value)):
		return fmt.Errorf("meta %s: %q is not JSON", key, value)
	}
	s.meta[key] = value
	return nil
}

func (s *Step) parseParam(rest string) error {
	key, value, _ := strings.Cut(rest, " ")
	return s.setJSONParam(key, value)
}

func (s *Step) setJSONParam(key, value string) error {
	// A captured value fits into a string only, so the text with its placeholder is valid JSON, too.
	if !json.Valid([]byte(value)) {
		return fmt.Errorf("%s: %q is not JSON", key, value)
	}
	s.setParam(key, value)
	return nil
}

func (s *Step) editHeader(rest string, drop bool) error {
	name, value, ok := strings.Cut(rest, ":")
	if !ok {
		return fmt.Errorf("header %q: want NAME: VALUE", rest)
	}
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, `"`) {
		unquoted, err := strconv.Unquote(value)
		if err != nil {
			return fmt.Errorf("header %s: %q is not a quoted string: %w", name, value, err)
		}
		value = unquoted
	}
	s.edits = append(s.edits, headerEdit{name: name, value: value, drop: drop})
	return nil
}
