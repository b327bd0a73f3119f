package iamsim

import "strings"

// matchAction compares an action with a pattern, regardless of case.
func matchAction(pattern, action string) bool {
	return like(strings.ToLower(pattern), strings.ToLower(action), false)
}

// matchResource compares an ARN with a pattern. Within a segment a wildcard stays in the segment; at a segment's end *
// goes on beyond the colon, so that function:name* matches function:name:7 too.
// Source: IAM User Guide, reference_policies_elements_resource, "Using wildcards in resource ARNs".
func matchResource(pattern, arn string) bool { return like(pattern, arn, true) }

// like compares with wildcards: * is any number of characters, ? is one. With segments, those are not colons, except
// where * ends a segment.
func like(pattern, text string, segments bool) bool {
	if pattern == "" {
		return text == ""
	}
	switch head, rest := pattern[0], pattern[1:]; head {
	case '*':
		beyond := !segments || rest == "" || rest[0] == ':'
		for i := 0; ; i++ {
			if like(rest, text[i:], segments) {
				return true
			}
			if i == len(text) || text[i] == ':' && !beyond {
				return false
			}
		}
	case '?':
		return text != "" && (text[0] != ':' || !segments) && like(rest, text[1:], segments)
	default:
		return text != "" && text[0] == head && like(rest, text[1:], segments)
	}
}
