package iamsim

import (
	"fmt"
	"slices"
	"strings"
)

// Request is one call of an AWS API.
type Request struct {
	// Action is like lambda:InvokeFunction.
	Action string
	// Resource is the ARN of what is acted on; "*" for actions without one, which only a resource "*" allows.
	Resource string
	// Context holds the condition keys of the request, as dynamodb:LeadingKeys.
	Context map[string][]string
}

func (r Request) String() string {
	if len(r.Context) == 0 {
		return r.Action + " on " + r.Resource
	}
	return fmt.Sprintf("%s on %s with %v", r.Action, r.Resource, r.Context)
}

// Decision is what becomes of a request.
type Decision string

// The decisions. What nothing allows is denied implicitly; what a statement denies, no other can allow.
const (
	Allowed      Decision = "allowed"
	ImplicitDeny Decision = "implicitly denied"
	ExplicitDeny Decision = "explicitly denied"
)

// Decide evaluates all policies of an identity together: an explicit denial first, then an allowance, else a denial.
// Source: IAM User Guide, reference_policies_evaluation-logic, "Determining whether a request is allowed or denied
// within an account".
func Decide(policies []Policy, request Request) (Decision, error) {
	context := map[string][]string{}
	for key, values := range request.Context {
		context[strings.ToLower(key)] = values
	}
	decision := ImplicitDeny
	for _, policy := range policies {
		for _, statement := range policy.statements {
			applies, err := statement.applies(request, context)
			if err != nil {
				return ExplicitDeny, fmt.Errorf("deciding %s: policy %s, statement %s: %w",
					request, policy.Name, statement.sid, err)
			}
			if applies && statement.deny {
				return ExplicitDeny, nil
			}
			if applies {
				decision = Allowed
			}
		}
	}
	return decision, nil
}

// applies reports whether the statement is about the request: action, resource and every condition.
func (s statement) applies(request Request, context map[string][]string) (bool, error) {
	if !matches(s.actions, s.notActions, request.Action, matchAction) ||
		!matches(s.resources, s.notResources, request.Resource, matchResource) {
		return false, nil
	}
	for _, condition := range s.conditions {
		holds, err := condition.holds(context)
		if err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

func matches(patterns, except texts, value string, match func(pattern, value string) bool) bool {
	is := func(pattern string) bool { return match(pattern, value) }
	if except != nil {
		return !slices.ContainsFunc(except, is)
	}
	return slices.ContainsFunc(patterns, is)
}
