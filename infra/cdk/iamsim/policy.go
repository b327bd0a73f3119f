// Package iamsim decides what a role may do, as IAM documents it: for tests that ask synthesized and deployed policies
// questions, instead of comparing their text.
//
// It knows identity policies of one account: Effect, Action and NotAction, Resource and NotResource, and the condition
// operators on texts, ARNs, booleans and the presence of keys. Whatever it does not know (another operator, a policy
// variable, a boundary) is an error, never a silent yes or no.
package iamsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// version is the policy language's newest version. Without it, IAM would read a document by the rules of 2008.
const version = "2012-10-17"

// Policy is an identity policy.
type Policy struct {
	// Name is for messages.
	Name       string
	statements []statement
}

// statement is one statement of a policy, checked.
type statement struct {
	sid                     string
	deny                    bool
	actions, notActions     texts
	resources, notResources texts
	conditions              []condition
}

// rawStatement is a statement as it is written. An element of another name is an error.
type rawStatement struct {
	Sid         string
	Effect      string
	Action      texts
	NotAction   texts
	Resource    texts
	NotResource texts
	Condition   map[string]map[string]texts
}

// texts is one text or a list of them, as most elements of a policy may be.
type texts []string

// UnmarshalJSON takes both forms, and in conditions the booleans that stand for their texts.
func (t *texts) UnmarshalJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	*t = make(texts, 0, len(list))
	for _, one := range list {
		switch one := one.(type) {
		case string:
			*t = append(*t, one)
		case bool:
			*t = append(*t, fmt.Sprint(one))
		default:
			return fmt.Errorf("%s is neither a text nor a list of texts", data)
		}
	}
	return nil
}

// ParsePolicy reads an identity policy's document.
func ParsePolicy(name string, document []byte) (Policy, error) {
	p := Policy{Name: name}
	var raw struct {
		Version   string
		ID        string `json:"Id"`
		Statement []rawStatement
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&raw); err != nil {
		return p, fmt.Errorf("reading the policy %s: %w", name, err)
	}
	if raw.Version != version {
		return p, fmt.Errorf("reading the policy %s: version %q; known: %q", name, raw.Version, version)
	}
	for i, statement := range raw.Statement {
		checked, err := statement.check()
		if err != nil {
			return p, fmt.Errorf("reading the policy %s: statement %d %s: %w", name, i, statement.Sid, err)
		}
		p.statements = append(p.statements, checked)
	}
	return p, nil
}

func (r rawStatement) check() (statement, error) {
	s := statement{
		sid: r.Sid, deny: r.Effect == "Deny",
		actions: r.Action, notActions: r.NotAction, resources: r.Resource, notResources: r.NotResource,
	}
	if r.Effect != "Deny" && r.Effect != "Allow" {
		return s, fmt.Errorf("effect %q", r.Effect)
	}
	if (r.Action == nil) == (r.NotAction == nil) || (r.Resource == nil) == (r.NotResource == nil) {
		return s, errors.New("it needs one of Action and NotAction, and one of Resource and NotResource")
	}
	for _, list := range []texts{r.Action, r.NotAction, r.Resource, r.NotResource} {
		for _, text := range list {
			if strings.Contains(text, "${") {
				return s, fmt.Errorf("%q has a policy variable, which is not known here", text)
			}
		}
	}
	var err error
	s.conditions, err = checkConditions(r.Condition)
	return s, err
}
