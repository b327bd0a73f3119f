package signin

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// page is what a page shows and what can be done there.
type page struct {
	address *url.URL
	text    string
	forms   []*form
}

// form is a form and its controls.
type form struct {
	method  string
	action  *url.URL
	fields  []field
	buttons []field
}

// field is a control of a form. Kind is its type attribute, as in "password", "hidden" or "submit".
type field struct {
	kind, name, value string
	checked, required bool
}

// Names and values of the buttons that give leave and refuse it. Keycloak's are accept and cancel.
var (
	yes = []string{"accept", "allow", "approve", "authorize", "continue", "yes"}
	no  = []string{"cancel", "deny", "decline", "no"}
)

func parse(address *url.URL, body []byte) (*page, error) {
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("reading the page at %s: %w", address, err)
	}
	p := &page{address: address}
	var words []string
	var inForm *form
	for node := range root.Descendants() {
		switch {
		case node.Type == html.TextNode && !silent(node.Parent):
			words = append(words, strings.Fields(node.Data)...)
		case node.DataAtom == atom.Form:
			inForm = p.newForm(node)
			p.forms = append(p.forms, inForm)
		case inForm != nil && within(node, atom.Form):
			inForm.add(node)
		}
	}
	p.text = strings.Join(words, " ")
	return p, nil
}

// silent reports whether a browser shows nothing of an element's text.
func silent(node *html.Node) bool {
	return node != nil && slices.Contains([]atom.Atom{atom.Script, atom.Style, atom.Noscript}, node.DataAtom)
}

func within(node *html.Node, kind atom.Atom) bool {
	for parent := range node.Ancestors() {
		if parent.DataAtom == kind {
			return true
		}
	}
	return false
}

func (p *page) newForm(node *html.Node) *form {
	f := &form{method: http.MethodGet, action: p.address}
	if strings.EqualFold(attribute(node, "method"), http.MethodPost) {
		f.method = http.MethodPost
	}
	if action, err := p.address.Parse(attribute(node, "action")); err == nil {
		f.action = action
	}
	return f
}

func (f *form) add(node *html.Node) {
	one := field{
		kind: strings.ToLower(attribute(node, "type")), name: attribute(node, "name"), value: attribute(node, "value"),
		checked: has(node, "checked"), required: has(node, "required"),
	}
	switch node.DataAtom {
	case atom.Button:
		if one.kind == "" || one.kind == "submit" {
			f.buttons = append(f.buttons, one)
		}
	case atom.Input:
		if one.kind == "submit" {
			f.buttons = append(f.buttons, one)
		} else {
			f.fields = append(f.fields, one)
		}
	}
}

// answer is what a person does with a page.
func (b *browser) answer(p *page) (*step, error) {
	for _, f := range p.forms {
		if f.asksForPassword() {
			return b.signIn(f)
		}
	}
	wanted := yes
	if b.options.Deny {
		wanted = no
	}
	for _, f := range p.forms {
		if i := slices.IndexFunc(f.buttons, func(button field) bool { return button.says(wanted) }); i >= 0 {
			return f.submit(f.buttons[i], nil), nil
		}
	}
	for _, f := range p.forms {
		if f.sendsItself() {
			return f.submit(field{}, nil), nil
		}
	}
	return nil, fmt.Errorf("%w: %s says %q", ErrStuck, p.address, p.text)
}

func (b *browser) signIn(f *form) (*step, error) {
	if b.tried {
		return nil, ErrRefused
	}
	b.tried = true
	return f.submit(slices.Concat(f.buttons, []field{{}})[0], func(one field) string {
		switch one.kind {
		case "password":
			return b.user.Password
		case "text", "email", "":
			return b.user.Name
		}
		return one.value
	}), nil
}

func (f *form) asksForPassword() bool {
	return slices.ContainsFunc(f.fields, func(one field) bool { return one.kind == "password" })
}

func (f *form) sendsItself() bool {
	return !slices.ContainsFunc(f.fields, func(one field) bool { return one.kind != "hidden" })
}

func (b field) says(words []string) bool {
	return slices.Contains(words, strings.ToLower(b.name)) || slices.Contains(words, strings.ToLower(b.value))
}

// submit sends a form as its button does. Boxes are ticked where they must be.
func (f *form) submit(button field, fill func(field) string) *step {
	values := url.Values{}
	for _, one := range f.fields {
		box := one.kind == "checkbox" || one.kind == "radio"
		if one.name == "" || box && !one.checked && !one.required {
			continue
		}
		value := one.value
		if fill != nil {
			value = fill(one)
		}
		values.Add(one.name, value)
	}
	if button.name != "" {
		values.Add(button.name, button.value)
	}
	return &step{f.method, f.action, values}
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(node *html.Node, name string) bool {
	return slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == name })
}
