package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// pattern is a regular expression that remembers how the schema spelled it, for messages.
type pattern struct {
	*regexp.Regexp
	source string
	size   int // instructions of its program
}

func (p pattern) String() string { return p.source }

// maxInstructions is how many instructions the patterns of one schema may make together. Each of them takes some
// hundred bytes, and a counted repeat makes thousands of them from a few characters.
const maxInstructions = 100_000

var errManySteps = errors.New("the patterns of the schema take too many steps")

// patterns compiles each pattern of a document once.
type patterns struct {
	known map[string]pattern
	total int
}

func (p *patterns) compile(source string) (jsonschema.Regexp, error) {
	if known, found := p.known[source]; found {
		return known, nil
	}
	compiled, err := compilePattern(source, maxInstructions-p.total)
	if err != nil {
		return nil, err
	}
	p.total += compiled.size
	p.known[source] = compiled
	return compiled, nil
}

// compilePattern takes a regular expression of ECMA-262, which JSON Schema recommends, to Go's RE2. It fails on what
// RE2 does not have, lookaround and backreferences, and on what takes more than that many instructions.
func compilePattern(source string, instructions int) (pattern, error) {
	tree, err := syntax.Parse(toRE2(source), syntax.Perl)
	if err != nil {
		return pattern{}, fmt.Errorf("compiling pattern %s: %w", strconv.Quote(source), err)
	}
	size := sizeOfTree(tree)
	if size > instructions {
		source = shorten(source, maxShown)
		return pattern{}, fmt.Errorf("compiling pattern %s: %w", strconv.Quote(source), errManySteps)
	}
	re, err := regexp.Compile(toRE2(source))
	if err != nil {
		return pattern{}, fmt.Errorf("compiling pattern %s: %w", strconv.Quote(source), err)
	}
	return pattern{re, source, size}, nil
}

// sizeOfTree is about how many instructions an expression is compiled to. Each may be looked at for each byte of a
// text.
func sizeOfTree(tree *syntax.Regexp) int {
	size := 1
	switch tree.Op {
	case syntax.OpLiteral:
		size = len(tree.Rune)
	case syntax.OpAlternate, syntax.OpCapture:
		size += len(tree.Sub)
	}
	for _, sub := range tree.Sub {
		size += sizeOfTree(sub)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Min, tree.Max, 1)
	}
	return size
}

// checkPattern reports what compilePattern would.
func checkPattern(source string) error {
	_, err := syntax.Parse(toRE2(source), syntax.Perl)
	return err
}

// sizeOfPattern is the size of a pattern that compilePattern has made.
func sizeOfPattern(re jsonschema.Regexp) int {
	switch p := re.(type) {
	case pattern:
		return p.size
	case shortPattern:
		return p.size
	}
	return 0
}

const (
	// ecmaSpace is what \s means in ECMA-262 (WhiteSpace and LineTerminator); RE2's \s is ASCII.
	ecmaSpace = `\t\n\v\f\r\p{Z}\x{feff}`
	// ecmaDot is what the dot does not match without the s flag; RE2's dot only excludes \n.
	ecmaDot = `[^\n\r\x{2028}\x{2029}]`
)

// toRE2 respells what both syntaxes have under different names. What it does not know it leaves to RE2 to refuse.
func toRE2(source string) string {
	if !strings.ContainsAny(source, `\.[`) {
		return source
	}
	var b strings.Builder
	class := false
	for i := 0; i < len(source); {
		text, width := ecmaToken(source[i:], class)
		b.WriteString(text)
		if class {
			class = source[i] != ']'
		} else {
			class = source[i] == '[' && width == 1
		}
		i += width
	}
	return b.String()
}

// ecmaToken translates the token at the start of s and tells how long it was.
func ecmaToken(s string, class bool) (text string, width int) {
	switch {
	case s[0] == '\\' && len(s) > 1:
		return ecmaEscape(s, class)
	case class && s[0] == '[':
		return `\[`, 1 // a bracket inside a class is itself; RE2 might take it for [:alpha:]
	case class:
		return s[:1], 1
	case s[0] == '.':
		return ecmaDot, 1
	case strings.HasPrefix(s, "[^]"):
		return `[\x{0}-\x{10ffff}]`, 3
	case strings.HasPrefix(s, "[]"):
		return `[^\x{0}-\x{10ffff}]`, 2
	case strings.HasPrefix(s, "[^"):
		return s[:1], 1
	}
	return s[:1], 1
}

func ecmaEscape(s string, class bool) (text string, width int) {
	switch s[1] {
	case 's':
		if class {
			return ecmaSpace, 2
		}
		return "[" + ecmaSpace + "]", 2
	case 'S':
		if !class {
			return "[^" + ecmaSpace + "]", 2
		}
	case 'u':
		if r, n := unicodeEscape(s); n > 0 {
			return fmt.Sprintf(`\x{%x}`, r), n
		}
	case 'c':
		if len(s) > 2 && (s[2]|0x20) >= 'a' && (s[2]|0x20) <= 'z' {
			return fmt.Sprintf(`\x{%x}`, s[2]&0x1f), 3
		}
	case '0':
		return `\x{0}`, 2
	case 'p', 'P':
		return propertyEscape(s)
	}
	return s[:2], 2
}

// unicodeEscape reads \u0041, a pair of surrogates, or \u{1F600}. A length of 0 means none of these.
func unicodeEscape(s string) (r rune, width int) {
	if strings.HasPrefix(s, `\u{`) {
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return 0, 0
		}
		n, err := strconv.ParseUint(s[3:end], 16, 21)
		if err != nil {
			return 0, 0
		}
		return rune(n), end + 1
	}
	first, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if second, ok := hex4(s[6:]); ok && utf16.DecodeRune(first, second) != '\uFFFD' {
		return utf16.DecodeRune(first, second), 12
	}
	return first, 6
}

func hex4(s string) (rune, bool) {
	if len(s) < 6 || !strings.HasPrefix(s, `\u`) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// propertyEscape drops the "Script=" that RE2 does without.
func propertyEscape(s string) (text string, width int) {
	end := strings.IndexByte(s, '}')
	if end < 0 || s[2] != '{' {
		return s[:2], 2
	}
	name := s[3:end]
	for _, prefix := range []string{"Script=", "sc=", "General_Category=", "gc="} {
		name = strings.TrimPrefix(name, prefix)
	}
	return s[:2] + "{" + name + "}", end + 1
}
