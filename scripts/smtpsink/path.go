package smtpsink

import (
	"errors"
	"net/mail"
	"strings"
)

// parsePath reads "FROM:<address> PARAMETER…", the argument of MAIL and RCPT. The address is empty for "<>".
func parsePath(prefix, argument string) (address string, parameters []string, err error) {
	if len(argument) < len(prefix) || !strings.EqualFold(argument[:len(prefix)], prefix) {
		return "", nil, errors.New("write " + prefix + "<address>")
	}
	rest := argument[len(prefix):]
	end := pathEnd(rest)
	if end < 0 || rest[end:] != "" && rest[end] != ' ' {
		return "", nil, errors.New("the address stands in < and >")
	}
	parameters = strings.Fields(rest[end:])
	if rest[:end] == "<>" {
		return "", parameters, nil
	}
	for i := range end {
		if rest[i] < ' ' || rest[i] > '~' {
			return "", nil, errors.New("the address is not ASCII")
		}
	}
	parsed, err := mail.ParseAddress(rest[:end])
	if err != nil || parsed.Name != "" {
		return "", nil, errors.New("this is no address")
	}
	return rest[1 : end-1], parameters, nil // as it was sent: the parser takes quotes off
}

// pathEnd is the index behind the ">" that closes the path, one in a quoted string aside; -1 when there is none.
func pathEnd(text string) int {
	if !strings.HasPrefix(text, "<") {
		return -1
	}
	quoted := false
	for i := 1; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '>' && !quoted:
			return i + 1
		}
	}
	return -1
}
