package jsonrpc

import (
	"strconv"
	"strings"
)

// maxIntegerDigits bounds what CanonicalInteger writes out, so that 1e999999999 costs nothing.
const maxIntegerDigits = 400

// CanonicalInteger returns the decimal digits of a JSON number whose value is an integer, so that 42, 42.0 and 4.2e1
// are equal as text; false for any other text. Numbers of more than 400 digits are not integers here.
func CanonicalInteger(text string) (string, bool) {
	negative := strings.HasPrefix(text, "-")
	mantissa, exponent, ok := splitExponent(strings.TrimPrefix(text, "-"))
	if !ok {
		return "", false
	}
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	if !digits(whole) || (hasPoint && !digits(fraction)) || (len(whole) > 1 && whole[0] == '0') {
		return "", false
	}
	all := strings.TrimLeft(whole+fraction, "0")
	if all == "" {
		return "0", true
	}
	shift := exponent - len(fraction)
	significant := strings.TrimRight(all, "0")
	zeros := len(all) - len(significant) + shift
	if zeros < 0 || len(significant)+zeros > maxIntegerDigits {
		return "", false
	}
	result := significant + strings.Repeat("0", zeros)
	if negative {
		result = "-" + result
	}
	return result, true
}

// splitExponent splits 4.2e1 into 4.2 and 1.
func splitExponent(text string) (mantissa string, exponent int, ok bool) {
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return text, 0, true
	}
	power := text[at+1:]
	if !digits(strings.TrimLeft(power, "+-")) {
		return "", 0, false
	}
	exponent, err := strconv.Atoi(power)
	if err != nil || exponent > 1<<20 || exponent < -1<<20 {
		return "", 0, false
	}
	return text[:at], exponent, true
}

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
