package schema

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formatExample shows a model what each asserted format looks like.
func formatExample(name string) string {
	switch name {
	case "date-time":
		return `"2026-07-28T09:30:00Z" (RFC 3339, with a time zone)`
	case "date":
		return `"2026-07-28"`
	case "time":
		return `"09:30:00Z" (with a time zone)`
	case "duration":
		return `"P3DT4H" (ISO 8601)`
	case "period":
		return `"2026-07-28T09:30:00Z/P1D"`
	case "email":
		return `"ada@example.com"`
	case "hostname":
		return `"www.example.com"`
	case "ipv4":
		return `"192.0.2.1"`
	case "ipv6":
		return `"2001:db8::1"`
	}
	return identifierExample(name)
}

func identifierExample(name string) string {
	switch name {
	case "uri", "iri":
		return `"https://example.com/path" (absolute)`
	case "uri-reference", "iri-reference":
		return `"https://example.com/path" or "/path"`
	case "uri-template":
		return `"https://example.com/{id}"`
	case "uuid":
		return `"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`
	case "json-pointer":
		return `"/items/0/name"`
	case "relative-json-pointer":
		return `"1/name"`
	case "regex":
		return `"^[a-z]+$" (RE2 syntax)`
	case "semver":
		return `"1.4.0"`
	}
	return ""
}

// registerFormats replaces the library's checks where those let wrong text through, and names "password", which checks
// nothing but marks a value that must not be shown.
func registerFormats(c *jsonschema.Compiler) {
	date := regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]`)
	clock := regexp.MustCompile(`^\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	checks := map[string]func(string) error{
		"password": func(string) error { return nil },
		"ipv4":     checkIPv4,
		"uri":      func(s string) error { return checkURI(s, true, true) },
		"iri":      func(s string) error { return checkURI(s, true, false) },

		"uri-reference": func(s string) error { return checkURI(s, false, true) },
		"iri-reference": func(s string) error { return checkURI(s, false, false) },

		"time": func(s string) error { return checkClock(clock, "2000-01-01T", s) },
		"date-time": func(s string) error {
			if !date.MatchString(s) {
				return errors.New("no date")
			}
			return checkClock(clock, s[:11], s[11:])
		},
	}
	for name, check := range checks {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: onStrings(check)})
	}
}

// onStrings lets every value pass that is not a string, as the specification demands of a format.
func onStrings(check func(string) error) func(any) error {
	return func(v any) error {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		return check(s)
	}
}

func checkIPv4(s string) error {
	address, err := netip.ParseAddr(s)
	if err != nil {
		return err
	}
	if !address.Is4() {
		return errors.New("not version 4")
	}
	return nil
}

// checkClock checks an RFC 3339 time behind a date that ends in T. Go's parser knows no leap seconds: 60 is checked as
// 59, and must be the last second of a day in UTC (RFC 3339, section 5.6 and appendix D).
func checkClock(grammar *regexp.Regexp, date, clock string) error {
	if !grammar.MatchString(clock) {
		return errors.New("not hours, minutes, seconds and a time zone")
	}
	leap := clock[6:8] == "60"
	if leap {
		clock = clock[:6] + "59" + clock[8:]
	}
	t, err := time.Parse(time.RFC3339, strings.ToUpper(date+clock))
	if err != nil {
		return err
	}
	if utc := t.UTC(); leap && (utc.Hour() != 23 || utc.Minute() != 59) {
		return errors.New("not a leap second")
	}
	return nil
}

// checkURI adds RFC 3986's character set to Go's parser, which also takes spaces, quotes and brackets.
func checkURI(s string, absolute, ascii bool) error {
	for _, r := range s {
		if r <= ' ' || r == 0x7f || ascii && r > unicode.MaxASCII || strings.ContainsRune("\"<>\\^`{|}", r) {
			return errors.New("a character that must be percent-encoded")
		}
	}
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	if absolute && !u.IsAbs() {
		return errors.New("no scheme")
	}
	return nil
}
