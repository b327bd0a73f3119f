package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"patchbay/scripts/mcpcall"
)

func TestResultsForPeople(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ result, want string }{
		"text alone": {`{"content": [{"type": "text", "text": "a\nb\n"}]}`, "a\nb\n"},
		"the same as text": {
			`{"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}}`,
			"{\n  \"a\": 1\n}\n",
		},
		"other text":    {`{"content": [{"type": "text", "text": "one"}], "structuredContent": 1}`, "one\n1\n"},
		"large numbers": {`{"content": [], "structuredContent": 12345678901234567890}`, "12345678901234567890\n"},
		"an image": {
			`{"content": [{"type": "image", "mimeType": "image/png", "data": "aGk="}]}`,
			"[image image/png] 58 bytes; --json shows it\n",
		},
		"nothing":               {`{"content": []}`, ""},
		"a terminal's controls": {`{"content": [{"type": "text", "text": "\u001b[2Ka"}]}`, "\\u{1b}[2Ka\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answer mcpcall.Answer
			var result struct {
				Content           []json.RawMessage
				StructuredContent json.RawMessage
			}
			if err := json.Unmarshal([]byte(test.result), &result); err != nil {
				t.Fatal(err)
			}
			answer.Content, answer.Structured = result.Content, result.StructuredContent
			if got := resultText(answer); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A form takes values of its fields' types, asks again for others, and goes back without what is left out.
func TestForms(t *testing.T) {
	t.Parallel()
	const schema = `{"type": "object", "required": ["name"], "properties": {
		"age": {"type": "integer", "default": 3},
		"colour": {"type": "string", "enum": ["red", "blue"], "description": "What it is painted."},
		"name": {"type": "string"}}}`
	for name, test := range map[string]struct{ schema, typed, want, says string }{
		"all": {
			schema, "5\nred\nAda\n",
			`accept {"age":5,"colour":"red","name":"Ada"}`, "colour: What it is painted. (red, blue)",
		},
		"again": {
			schema, "five\n5\ngreen\nblue\nAda\n",
			`accept {"age":5,"colour":"blue","name":"Ada"}`, "allowed: ",
		},
		"the least":     {schema, "\n\nAda\n", `accept {"name":"Ada"}`, "age [3]"},
		"not the least": {schema, "5\nred\n\n", "cancel null", ""},
		"nobody":        {schema, "", "cancel null", ""},
		"yes": {
			`{"properties": {"confirm": {"type": "boolean"}}}`, "YES\n", `accept {"confirm":true}`,
			"Let it run?",
		},
		"no": {`{"properties": {"confirm": {"type": "boolean"}}}`, "\n", "decline null", "Let it run?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			asks := &form{in: bufio.NewReader(strings.NewReader(test.typed)), out: &out}
			reply, err := asks.fill(mcpcall.Question{Schema: json.RawMessage(test.schema)})
			if err != nil {
				t.Fatal(err)
			}
			got := reply.Action + " " + asText(t, reply.Content)
			if got != test.want || !strings.Contains(out.String(), test.says) {
				t.Errorf("got %s after\n%s\nwant %s and %s", got, &out, test.want, test.says)
			}
		})
	}
	var out bytes.Buffer
	asks := &form{in: bufio.NewReader(strings.NewReader("yes\n")), out: &out}
	reply, err := asks.fill(mcpcall.Question{URL: "https://example.com/pay"})
	if err != nil || reply.Action != mcpcall.Accept || !strings.Contains(out.String(), "https://example.com/pay") {
		t.Errorf("a page: %+v, %v, %s", reply, err, &out)
	}
}

// What servers write is inert in a terminal, whichever command shows it.
func TestWhatServersWroteIsInert(t *testing.T) {
	t.Parallel()
	list := &shownTools{Tools: []shownTool{{
		Name: hostile, Title: hostile, Category: hostile, Risk: hostile, Function: hostile, Permissions: []string{hostile},
		Description: hostile,
	}}}
	block := json.RawMessage(asText(t, map[string]string{"type": hostile, "uri": hostile}))
	for name, write := range map[string]func(io.Writer) error{
		"tool list":        list.write,
		"tool list --json": func(w io.Writer) error { return writeJSON(w, list) },
		"progress": func(w io.Writer) error {
			tellProgress(w)(mcpcall.Progress{Progress: 1, Message: hostile})
			return nil
		},
		"a result": func(w io.Writer) error {
			_, err := io.WriteString(w, resultText(mcpcall.Answer{
				Content: []json.RawMessage{block}, Structured: json.RawMessage(asText(t, hostile)),
			}))
			return err
		},
		"a form": func(w io.Writer) error {
			_, _, err := (&form{in: bufio.NewReader(strings.NewReader("1\n\n")), out: w}).value(hostile, formField{
				Type: json.RawMessage(asText(t, hostile)), Description: hostile, Enum: []string{hostile},
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			wantInert(t, out.String())
		})
	}
}

// Whatever is given as arguments is told, too if it is no JSON, or only the beginning of some.
func TestArgumentsThatAreNoObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"location":`:                     "unexpected end of JSON input",
		`{"location":"Oslo"}}`:             "after top-level value",
		`location=Oslo`:                    "not JSON",
		``:                                 "unexpected end of JSON input",
		`["Oslo"]`:                         "not a JSON object",
		`{"location":"a", "location":"b"}`: "location",
	} {
		if err := oneObject([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want one with %q", text, err, want)
		}
	}
	if err := oneObject([]byte(` {"location":"Oslo"} `)); err != nil {
		t.Errorf("an object: %v", err)
	}
}
