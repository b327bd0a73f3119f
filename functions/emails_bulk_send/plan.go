package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"patchbay/functions/internal/mail"
	"patchbay/shared/tool"
)

// nobodysName addresses a recipient whose name is not known.
const nobodysName = "there"

// plan is what a call comes to: who gets what.
type plan struct {
	template template
	letters  []letter
	warnings []string
}

// letter is one message of a plan.
type letter struct {
	to   mail.Address
	text string
}

// plan finds the template and the segment, and leaves out whoever cannot or may not get the message.
func (d data) plan(templateID, segmentID string) (plan, error) {
	chosen, ok := d.templates[templateID]
	if !ok {
		return plan{}, tool.Fail("unknown_template", "There is no template %q. There are: %s. Nothing was sent.",
			templateID, names(d.templates))
	}
	members, ok := d.segments[segmentID]
	if !ok {
		return plan{}, tool.Fail("unknown_segment", "There is no segment %q. There are: %s. Nothing was sent.",
			segmentID, names(d.segments))
	}
	p := plan{template: chosen, warnings: []string{}}
	p.add(members)
	return p, nil
}

func names[V any](of map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(of)), ", ") }

// add writes a letter to each member that can get one, and warns of the others.
func (p *plan) add(members []member) {
	var unsubscribed, twice, nameless int
	var malformed []string
	seen := map[string]bool{}
	for _, m := range members {
		to, err := mail.NewAddress(m.name, m.email)
		known := strings.ToLower(m.email)
		switch {
		case !m.subscribed:
			unsubscribed++
		case err != nil:
			malformed = append(malformed, m.email)
		case seen[known]:
			twice++
		default:
			if m.name == "" {
				nameless++
			}
			seen[known] = true
			p.letters = append(p.letters, letter{to: to, text: p.template.render(m.name)})
		}
	}
	p.warn(unsubscribed, "Left out, because they unsubscribed: %d.")
	p.warn(twice, "In the segment more than once, and written to once: %d.")
	p.warn(nameless, "Without a name, and so addressed as \""+nobodysName+"\": %d.")
	if len(malformed) > 0 {
		p.warnings = append(p.warnings, "Left out, because their addresses are not valid: "+
			strings.Join(malformed, ", ")+".")
	}
	if len(p.letters) == 0 {
		p.warnings = append(p.warnings, "Nobody is left to send to; a real call will be refused.")
	}
}

// warn adds a warning about a number of members, if there are any.
func (p *plan) warn(count int, format string) {
	if count > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf(format, count))
	}
}

func (t template) render(name string) string {
	if name == "" {
		name = nobodysName
	}
	return strings.ReplaceAll(t.Text, "{{name}}", name)
}
