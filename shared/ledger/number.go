package ledger

import (
	"math"
	"strconv"
	"strings"
)

// canonicalNumber is a JSON number as ECMAScript writes its double (RFC 8785, section 3.2.2.3), if that has the same
// decimal value: 1.0 and 1e0 are 1, but 9007199254740993, which would become 9007199254740992, is refused. So no two
// numbers that differ have one canonical form.
func canonicalNumber(literal string) ([]byte, *jsonProblem) {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil { // The literal is a JSON number, so it is out of range.
		return nil, &jsonProblem{
			problem: "is " + shorten(literal) + ", too large for a double-precision number",
			allowed: "numbers up to 1.7976931348623157e308, or the digits as a string",
		}
	}
	canonical := appendDouble(nil, f)
	if parseDecimal(literal) != parseDecimal(string(canonical)) {
		return nil, &jsonProblem{
			problem: "is " + shorten(literal) + ", which a double-precision number rounds to " + string(canonical),
			allowed: "numbers that keep their value, such as integers up to 2^53, or the digits as a string",
		}
	}
	return canonical, nil
}

// shorten bounds a literal in a text.
func shorten(literal string) string {
	const most = 40
	if len(literal) > most {
		return literal[:most] + "…"
	}
	return literal
}

// appendDouble writes a finite number as ECMAScript's Number::toString does: the fewest digits that read back as the
// same double, in plain notation from 1e-6 to below 1e21.
func appendDouble(out []byte, f float64) []byte {
	if f == 0 {
		return append(out, '0') // Also -0.
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(out, f, 'f', -1, 64)
	}
	out = strconv.AppendFloat(out, f, 'e', -1, 64)
	// Go pads the exponent to two digits.
	if n := len(out); out[n-4] == 'e' && out[n-2] == '0' {
		out = append(out[:n-2], out[n-1])
	}
	return out
}

// decimal is the exact value of a number's text: 0.digits × 10^exponent. Equal values are equal structs.
type decimal struct {
	negative bool
	digits   string // without leading and trailing zeros; empty for zero
	exponent int
}

func parseDecimal(text string) decimal {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, power := text, 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa = text[:at]
		power, _ = strconv.Atoi(text[at+1:]) // Out of range is the largest int, which no double's text has.
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent := len(digits) - len(fraction) + power
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}
	}
	return decimal{negative, digits, exponent}
}
