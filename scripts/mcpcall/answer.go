package mcpcall

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Answer is the result of a call: of one that succeeded, or of one that ended in an error for the model to read.
type Answer struct {
	// Result is the whole result as the server sent it.
	Result json.RawMessage
	// Content are the content blocks; Text are those with text, a line feed between them.
	Content []json.RawMessage
	Text    string
	// Structured is the structured content; nil without.
	Structured json.RawMessage
	// Meta is the result's _meta; nil without.
	Meta    json.RawMessage
	IsError bool
	// Failure is the code of the declared failure mode that an error names; empty without.
	Failure string
	// Reports is how often the tool reported progress.
	Reports int
	// Duration is how long the call took, questions to a person included.
	Duration time.Duration
	// RequestID is how the server's logs name the last request of the call; empty where it gives none.
	RequestID string
}

// Has reports whether _meta has the member with the value true, as results have that were replayed.
func (a Answer) Has(meta string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(a.Meta, &members) == nil && string(members[meta]) == "true"
}

// Refusal is a request that the server refused: there is no result.
type Refusal struct {
	// Status is the HTTP status.
	Status int
	// Code and Message are those of the JSON-RPC error. Without one the code is 0 and the message what the body says.
	Code    int64
	Message string
	// Challenge is what the server asks of a token; zero where it asks for nothing.
	Challenge Challenge
	// RequestID is how the server's logs name the request; empty where it gives none.
	RequestID string
}

// Challenge is the header field WWW-Authenticate of a refusal.
type Challenge struct {
	// Error and Description are the OAuth error and its text; Scope are the scopes that are needed.
	Error, Description, Scope string
}

// Error says everything on one line.
func (r *Refusal) Error() string {
	text := r.Message
	if text == "" {
		text = http.StatusText(r.Status)
	}
	if r.Challenge.Description != "" && !strings.Contains(text, r.Challenge.Description) {
		text += " " + r.Challenge.Description
	}
	if r.Challenge.Scope != "" {
		text += " Scopes that are needed: " + r.Challenge.Scope + "."
	}
	if r.Code != 0 {
		return fmt.Sprintf("the server refuses: %s (error %d, HTTP status %d)", text, r.Code, r.Status)
	}
	return fmt.Sprintf("the server refuses: %s (HTTP status %d)", text, r.Status)
}

// answer is the result that came last.
func (x *exchange) answer() (Answer, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.message.Result == nil {
		return Answer{}, errors.New("no result came over the wire, or one that is larger than is kept")
	}
	answer := Answer{Result: x.message.Result, Reports: x.reports, RequestID: requestID(x.header)}
	var result struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
		Meta       json.RawMessage   `json:"_meta"`
	}
	if err := json.Unmarshal(answer.Result, &result); err != nil {
		return Answer{}, fmt.Errorf("decoding it: %w", err)
	}
	answer.Content, answer.Structured, answer.Meta = result.Content, result.Structured, result.Meta
	answer.IsError = result.IsError
	answer.Text = textOf(result.Content)
	var meta struct {
		Failure struct {
			Code string `json:"code"`
		} `json:"dev.patchbay/failure"`
	}
	if json.Unmarshal(answer.Meta, &meta) == nil {
		answer.Failure = meta.Failure.Code
	}
	return answer, nil
}

func textOf(content []json.RawMessage) string {
	var texts []string
	for _, raw := range content {
		var block struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &block) == nil && block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func requestID(header http.Header) string { return header.Get("X-Amzn-Requestid") }

// bodyMessage is what a body says that is no JSON-RPC: API Gateway's own are {"message": …}.
func bodyMessage(body []byte) string {
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &object) == nil && object.Message != "" {
		return object.Message
	}
	const longest = 300
	text := strings.Join(strings.Fields(string(body)), " ")
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// parameter is one of a challenge's. Source: RFC 9110, section 11.6.1; RFC 6750, section 3.
var parameter = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)

func readChallenge(header http.Header) Challenge {
	var challenge Challenge
	for _, found := range parameter.FindAllStringSubmatch(header.Get("Www-Authenticate"), -1) {
		value := strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(found[2])
		switch found[1] {
		case "error":
			challenge.Error = value
		case "error_description":
			challenge.Description = value
		case "scope":
			challenge.Scope = value
		}
	}
	return challenge
}
