package contract

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used: the dispatcher links this package, checks
// nothing with it, and would pay for all of them at every cold start.
type pattern func() *regexp.Regexp

func lazily(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

func (p pattern) match(text string) bool { return p().MatchString(text) }
