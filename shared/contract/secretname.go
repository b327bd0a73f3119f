package contract

import (
	"slices"
	"strings"
)

// LooksSecret reports whether a name is usually that of a credential: apiKey, client_secret, access-token. Names like
// max_tokens, token_url and secret_name are none.
func LooksSecret(name string) bool {
	words := splitWords(name)
	if len(words) > 0 && isAboutSecret(words[len(words)-1]) {
		return false
	}
	for i, word := range words {
		switch word {
		case "password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "token", "credential",
			"credentials", "apikey", "authorization", "bearer", "jwt", "cookie":
			return true
		case "key":
			if i > 0 && slices.Contains([]string{"api", "private", "access", "secret", "signing"}, words[i-1]) {
				return true
			}
		}
	}
	return false
}

// isAboutSecret reports whether a last word makes a name one of something beside the secret.
func isAboutSecret(word string) bool {
	switch word {
	case "url", "uri", "endpoint", "name", "id", "arn", "type", "ttl", "seconds", "path", "file":
		return true
	}
	return false
}

// splitWords splits a name where its case changes and at everything that is no letter or digit, in small letters.
func splitWords(name string) []string {
	var words []string
	start := 0
	for i := 0; i <= len(name); i++ {
		boundary := i == len(name) || !isAlphanumeric(name[i])
		hump := !boundary && i > start && isUpper(name[i]) && !isUpper(name[i-1])
		if !boundary && !hump {
			continue
		}
		if i > start {
			words = append(words, strings.ToLower(name[start:i]))
		}
		start = i
		if boundary {
			start++
		}
	}
	return words
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
