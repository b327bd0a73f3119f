package localgateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxResource is the length of a resource's ARN in a policy.
// Source: API Gateway developer guide, "Quotas for configuring and running a REST API in API Gateway".
const maxResource = 512

// invokeAction is what a policy must allow. Actions have no case. Source: IAM user guide, "IAM JSON policy elements:
// Action".
const invokeAction = "execute-api:invoke"

// policy is what an authorizer decides. What IAM knows beside these elements is not emulated: a policy with a condition
// is refused instead of being taken for one without.
type policy struct {
	statements []statement
}

type statement struct {
	deny               bool
	actions, resources []string
}

// allows evaluates the policy for the ARN of a method: a statement that denies wins, and what no statement allows is
// denied. Source: IAM user guide, "Policy evaluation logic".
func (p policy) allows(methodARN string) bool {
	allowed := false
	for _, s := range p.statements {
		if !s.matches(methodARN) {
			continue
		}
		if s.deny {
			return false
		}
		allowed = true
	}
	return allowed
}

func (s statement) matches(methodARN string) bool {
	return anyMatches(s.actions, invokeAction) && anyMatches(s.resources, methodARN)
}

func anyMatches(patterns []string, text string) bool {
	for _, pattern := range patterns {
		if matches(pattern, text) {
			return true
		}
	}
	return false
}

// matches compares a text with a pattern, in which * is any number of characters and ? is one. A * that turns out to
// stand for too little takes one character more, and what follows it is tried again.
func matches(pattern, text string) bool {
	star, resume := -1, 0
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// parsePolicy reads a policy document. Its members have the case that IAM gives them.
func parsePolicy(raw json.RawMessage) (policy, error) {
	document, err := members(raw, "Version", "Id", "Statement")
	if err != nil {
		return policy{}, err
	}
	var version string
	if given := document["Version"]; given != nil {
		if err := json.Unmarshal(given, &version); err != nil || version != "2012-10-17" && version != "2008-10-17" {
			return policy{}, fmt.Errorf("the member Version is %s; allowed: 2012-10-17, 2008-10-17", given)
		}
	}
	if document["Statement"] == nil {
		return policy{}, errors.New("no member Statement")
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(document["Statement"], &raws); err != nil {
		raws = []json.RawMessage{document["Statement"]} // one statement may stand without a list
	}
	var p policy
	for i, raw := range raws {
		s, err := parseStatement(raw)
		if err != nil {
			return policy{}, fmt.Errorf("statement %d: %w", i, err)
		}
		p.statements = append(p.statements, s)
	}
	return p, nil
}

func parseStatement(raw json.RawMessage) (statement, error) {
	given, err := members(raw, "Sid", "Effect", "Action", "Resource")
	if err != nil {
		return statement{}, err
	}
	var s statement
	switch effect := string(given["Effect"]); effect {
	case `"Allow"`:
	case `"Deny"`:
		s.deny = true
	default:
		return statement{}, fmt.Errorf("the member Effect is %s; allowed: \"Allow\", \"Deny\"", effect)
	}
	if s.actions, err = texts(given["Action"]); err != nil {
		return statement{}, fmt.Errorf("the member Action: %w", err)
	}
	for i, action := range s.actions {
		s.actions[i] = strings.ToLower(action)
	}
	if s.resources, err = texts(given["Resource"]); err != nil {
		return statement{}, fmt.Errorf("the member Resource: %w", err)
	}
	for _, resource := range s.resources {
		if len(resource) > maxResource {
			return statement{}, fmt.Errorf("a Resource of %d characters; allowed: %d", len(resource), maxResource)
		}
	}
	return s, nil
}

// members reads an object that has no other members than those.
func members(raw json.RawMessage, known ...string) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	if all == nil {
		return nil, errors.New("no object")
	}
	found := 0
	for _, name := range known {
		if _, has := all[name]; has {
			found++
		}
	}
	if found != len(all) {
		return nil, fmt.Errorf("members beside %s", strings.Join(known, ", "))
	}
	return all, nil
}

// texts reads a text or a list of texts, of which there must be one.
func texts(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil && string(raw) != "null" {
		return []string{one}, nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s is no text and no list of texts", raw)
	}
	if len(list) == 0 {
		return nil, errors.New("empty")
	}
	return list, nil
}
