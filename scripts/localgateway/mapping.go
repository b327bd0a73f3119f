package localgateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/textproto"
	"regexp"
	"strings"

	"patchbay/shared/gatewayresponse"
)

// expression is the value of a gateway response's header field: one fixed text, or one place from which API Gateway
// takes it. There is no way to put two together.
// Source: API Gateway developer guide, "Parameter mapping source reference for REST APIs".
type expression struct {
	static  string
	field   string   // of the request
	context []string // the path below $context
}

var (
	staticValue  = regexp.MustCompile(`^'([^']*)'$`)
	requestField = regexp.MustCompile(`^method\.request\.header\.([a-zA-Z0-9._$-]+)$`)
	contextValue = regexp.MustCompile(`^context\.([a-zA-Z0-9_-][a-zA-Z0-9._$-]*)$`)
)

func parseExpression(text string) (expression, error) {
	if found := staticValue.FindStringSubmatch(text); found != nil {
		return expression{static: found[1]}, nil
	}
	if found := requestField.FindStringSubmatch(text); found != nil {
		return expression{field: textproto.CanonicalMIMEHeaderKey(found[1])}, nil
	}
	if found := contextValue.FindStringSubmatch(text); found != nil {
		return expression{context: strings.Split(found[1], ".")}, nil
	}
	return expression{}, fmt.Errorf("%s is no mapping expression; allowed: 'static' without quotes in it, "+
		"method.request.header.NAME, context.NAME", text)
}

// value evaluates the expression. The context is that of the event, as decoded JSON. What is not there has no value;
// whether API Gateway leaves the field out then, as is done here, or sends an empty one, is not documented.
func (x expression) value(fields map[string][]string, context map[string]any) (string, bool) {
	switch {
	case x.field != "":
		values := fields[x.field]
		if len(values) == 0 {
			return "", false
		}
		return values[len(values)-1], true
	case x.context != nil:
		return contextText(context, x.context)
	}
	return x.static, true
}

// decoded is the context as JSON, so that every name that a function gets to see in it has a value for expressions.
func (c requestContext) decoded() map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(encode(c)))
	decoder.UseNumber()
	var decoded map[string]any
	if err := decoder.Decode(&decoded); err != nil {
		panic("localgateway: decoding what was just encoded: " + err.Error())
	}
	return decoded
}

// contextText finds a text, a number or a boolean below the path's names.
func contextText(at any, path []string) (string, bool) {
	for _, name := range path {
		object, ok := at.(map[string]any)
		if !ok {
			return "", false
		}
		at = object[name]
	}
	switch value := at.(type) {
	case string:
		return value, true
	case json.Number, bool:
		return fmt.Sprint(value), true
	}
	return "", false
}

// response is a gateway response with its header parsed.
type response struct {
	gatewayresponse.Response
	header map[string]expression
}

// responseTable has the gateway responses of an API by their type.
type responseTable map[string]response

// newResponseTable panics when a response has a header that API Gateway would refuse, as a deployment would fail.
func newResponseTable(options gatewayresponse.Options) responseTable {
	table := responseTable{}
	for _, r := range gatewayresponse.For(options).All() {
		parsed := map[string]expression{}
		for name, text := range r.Header() {
			x, err := parseExpression(text)
			if err != nil {
				panic(fmt.Sprintf("localgateway: gateway response %s, field %s: %v", r.Type, name, err))
			}
			parsed[name] = x
		}
		table[r.Type] = response{r, parsed}
	}
	return table
}
