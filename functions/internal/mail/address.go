package mail

import (
	"fmt"
	"net/mail"
	"strings"
)

// Bounds of an address (RFC 5321, 4.5.3.1). A path, which is an address in < and >, has at most 256 bytes.
const (
	maxLocalPart = 64
	maxSpec      = 254
)

// Address is a checked e-mail address, with the name of its owner if there is one.
type Address struct{ name, spec string }

// ParseAddress reads "ada@example.com" or "Ada Lovelace <ada@example.com>". The error says in a model's words what is
// wrong: it is no address (RFC 5322, 3.4), it is too long, or it needs SMTPUTF8 (RFC 6531), which few servers have.
func ParseAddress(text string) (Address, error) {
	if i := strings.IndexFunc(text, isControl); i >= 0 {
		return Address{}, fmt.Errorf("%q has a control character or line break, which no address has", text)
	}
	parsed, err := mail.ParseAddress(text)
	if err != nil {
		return Address{}, fmt.Errorf("%q is not one e-mail address; write it like ada@example.com "+
			"or Ada Lovelace <ada@example.com>", text)
	}
	// String quotes the part before the @ again where it needs to be.
	spec := strings.Trim((&mail.Address{Address: parsed.Address}).String(), "<>")
	local := spec[:strings.LastIndexByte(spec, '@')]
	switch {
	case strings.ContainsFunc(spec, func(r rune) bool { return r > '~' }):
		return Address{}, fmt.Errorf("%q has letters outside of ASCII in the address itself, which this mail server "+
			"does not deliver to", text)
	case strings.ContainsFunc(parsed.Name, isControl), strings.ContainsFunc(spec, isControl):
		return Address{}, fmt.Errorf("%q has an encoded control character, which no address has", text)
	case len(local) > maxLocalPart || len(spec) > maxSpec:
		return Address{}, fmt.Errorf("%q is too long for an address: at most %d characters before the @ and %d in all",
			text, maxLocalPart, maxSpec)
	}
	return Address{name: parsed.Name, spec: spec}, nil
}

// NewAddress makes an address of a bare one and its owner's name, which may be empty. Its errors are ParseAddress's.
func NewAddress(name, spec string) (Address, error) {
	address, err := ParseAddress(spec)
	switch {
	case err != nil:
		return Address{}, err
	case address.name != "":
		return Address{}, fmt.Errorf("%q is an address with a name; give the address alone", spec)
	case strings.ContainsFunc(name, isControl):
		return Address{}, fmt.Errorf("the name %q has a control character or line break, which no name has", name)
	}
	address.name = name
	return address, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Spec returns the address alone, as the envelope has it: ada@example.com.
func (a Address) Spec() string { return a.spec }

// String returns the address as a person writes it, with its name in front.
func (a Address) String() string {
	if a.name == "" {
		return a.spec
	}
	return a.name + " <" + a.spec + ">"
}

// header returns the address as a header has it, with its name quoted or encoded.
func (a Address) header() string {
	switch {
	case a.name == "":
		return a.spec
	case isPlain(a.name):
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a.name) + `" <` + a.spec + ">"
	}
	return encodeWords(a.name) + " <" + a.spec + ">"
}

// Specs returns the addresses alone.
func Specs(addresses []Address) []string {
	specs := make([]string, len(addresses))
	for i, address := range addresses {
		specs[i] = address.spec
	}
	return specs
}
