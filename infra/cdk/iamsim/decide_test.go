package iamsim

import (
	"strings"
	"testing"
)

// policies makes policies of statements, each of which is one policy, so that order and number are of no consequence.
func policies(t *testing.T, statements ...string) []Policy {
	t.Helper()
	all := make([]Policy, 0, len(statements))
	for _, statement := range statements {
		policy, err := ParsePolicy("test", []byte(`{"Version":"2012-10-17","Statement":[`+statement+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, policy)
	}
	return all
}

const (
	invokeAll = `{"Effect":"Allow","Action":"lambda:InvokeFunction","Resource":"*"}`
	table     = "arn:aws:dynamodb:us-east-1:1:table/state"
	rows      = `{"Effect":"Allow","Action":["dynamodb:GetItem","dynamodb:BatchGetItem"],"Resource":"` + table + `",
		"Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["basket#*"]},
		"Null":{"dynamodb:LeadingKeys":"false"}}}`
)

func TestDecide(t *testing.T) {
	t.Parallel()
	const lambda = "arn:aws:lambda:us-east-1:1:function:"
	invoke := Request{"lambda:InvokeFunction", lambda + "a", nil}
	on := func(resource string) Request { return Request{"x:Y", resource, nil} }
	allows := func(resource string) []string {
		return []string{`{"Effect":"Allow","Action":"*","Resource":"` + resource + `"}`}
	}
	deny := func(resource string) string {
		return `{"Effect":"Deny","Action":"lambda:*","Resource":"` + resource + `"}`
	}
	allBut := []string{`{"Effect":"Allow","Action":"*","NotResource":"` + lambda + `a"}`}
	notActions := func(actions string) []string {
		return []string{`{"Effect":"Allow","NotAction":` + actions + `,"Resource":"*"}`}
	}
	insecure := `{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":false}}}`
	allow := func(action, resource string) string {
		return `{"Effect":"Allow","Action":"` + action + `","Resource":"` + resource + `"}`
	}
	when := func(condition string) []string {
		return []string{`{"Effect":"Allow","Action":"s3:GetObject","Resource":"*","Condition":{` + condition + `}}`}
	}
	read := func(context map[string][]string) Request { return Request{"s3:GetObject", "arn:aws:s3:::b/k", context} }
	with := func(values ...string) Request { return read(map[string][]string{"aws:Key": values}) }
	keys := func(values ...string) Request {
		return Request{"dynamodb:BatchGetItem", table, map[string][]string{"dynamodb:LeadingKeys": values}}
	}
	for name, test := range map[string]struct {
		statements []string
		request    Request
		want       Decision
	}{
		// The order of evaluation: a denial wins wherever it stands, nothing at all denies.
		"nothing says anything": {nil, invoke, ImplicitDeny},
		"allowed":               {[]string{invokeAll}, invoke, Allowed},
		"allowed, then denied": {[]string{invokeAll, deny("*")},
			invoke, ExplicitDeny},
		"denied, then allowed": {[]string{deny(lambda + "a"), invokeAll},
			invoke, ExplicitDeny},
		"another is denied": {[]string{deny(lambda + "a"), invokeAll},
			Request{"lambda:InvokeFunction", lambda + "b", nil}, Allowed},
		"a denial whose condition does not hold": {
			[]string{invokeAll, insecure},
			Request{"lambda:InvokeFunction", lambda + "a", map[string][]string{"aws:SecureTransport": {"true"}}}, Allowed},

		// Actions.
		"another action":        {[]string{invokeAll}, Request{"lambda:DeleteFunction", lambda + "a", nil}, ImplicitDeny},
		"action in other case":  {[]string{allow("S3:getobject", "*")}, with(), Allowed},
		"action by a wildcard":  {[]string{allow("s3:Get*", "*")}, with(), Allowed},
		"action by ?":           {[]string{allow("s3:?etObject", "*")}, with(), Allowed},
		"a part of the action":  {[]string{allow("s3:GetObjec", "*")}, with(), ImplicitDeny},
		"what begins so":        {[]string{allow("s3:GetObject*", "*")}, Request{"s3:GetObjectAcl", "x", nil}, Allowed},
		"all but this action":   {notActions(`"s3:GetObject"`), with(), ImplicitDeny},
		"all but other actions": {notActions(`["s3:Put*"]`), with(), Allowed},

		// Resources: versions of functions above all.
		"the name alone is no version": {allows(lambda + "a"), on(lambda + "a:7"), ImplicitDeny},
		"a version is not the name":    {allows(lambda + "a:*"), on(lambda + "a"), ImplicitDeny},
		"any version":                  {allows(lambda + "a:*"), on(lambda + "a:7"), Allowed},
		"versions of a pattern":        {allows(lambda + "p-tool-*:*"), on(lambda + "p-tool-a:7"), Allowed},
		"unqualified, of a pattern":    {allows(lambda + "p-tool-*:*"), on(lambda + "p-tool-a"), ImplicitDeny},
		"not of the pattern":           {allows(lambda + "p-tool-*:*"), on(lambda + "p-registrar:7"), ImplicitDeny},
		"a trailing wildcard goes on":  {allows(lambda + "a*"), on(lambda + "ab:7"), Allowed},
		"one in the middle does not":   {allows("arn:aws:x:r:1:a*c"), on("arn:aws:x:r:1:ab:c"), ImplicitDeny},
		"resources tell case":          {allows(lambda + "A"), on(lambda + "a"), ImplicitDeny},
		"a ? is no colon":              {allows(lambda + "a?7"), on(lambda + "a:7"), ImplicitDeny},
		"all but this resource":        {allBut, on(lambda + "a"), ImplicitDeny},
		"all but another":              {allBut, on(lambda + "b"), Allowed},
		"an action without one":        {[]string{allow("x:Y", "arn:aws:x:::*")}, on("*"), ImplicitDeny},

		// Conditions: all operators and keys of a statement, one of a key's values.
		"equal":                   {when(`"StringEquals":{"aws:Key":["a","b"]}`), with("b"), Allowed},
		"not equal":               {when(`"StringEquals":{"aws:Key":["a","b"]}`), with("c"), ImplicitDeny},
		"a key in other case":     {when(`"StringEquals":{"AWS:kEY":"a"}`), with("a"), Allowed},
		"equal tells case":        {when(`"StringEquals":{"aws:Key":"A"}`), with("a"), ImplicitDeny},
		"equal but for case":      {when(`"StringEqualsIgnoreCase":{"aws:Key":"A"}`), with("a"), Allowed},
		"equal knows no wildcard": {when(`"StringEquals":{"aws:Key":"*"}`), with("a"), ImplicitDeny},
		"like":                    {when(`"StringLike":{"aws:Key":"a?:*"}`), with("ab:c:d"), Allowed},
		"the key is missing":      {when(`"StringEquals":{"aws:Key":"a"}`), read(nil), ImplicitDeny},
		"missing, if it is":       {when(`"StringEqualsIfExists":{"aws:Key":"a"}`), read(nil), Allowed},
		"there, if it is":         {when(`"StringEqualsIfExists":{"aws:Key":"a"}`), with("b"), ImplicitDeny},
		"none of them":            {when(`"StringNotEquals":{"aws:Key":["a","b"]}`), with("c"), Allowed},
		"one of them":             {when(`"StringNotEquals":{"aws:Key":["a","b"]}`), with("b"), ImplicitDeny},
		"missing is not equal":    {when(`"StringNotEquals":{"aws:Key":"a"}`), read(nil), Allowed},
		"not like":                {when(`"StringNotLike":{"aws:Key":"a*"}`), with("ab"), ImplicitDeny},
		"an ARN":                  {when(`"ArnLike":{"aws:Key":"arn:aws:x:*:1:y/*"}`), with("arn:aws:x:r:1:y/z"), Allowed},
		"an ARN part by part":     {when(`"ArnLike":{"aws:Key":"arn:aws:x:*:1:y"}`), with("arn:aws:x:r:2:1:y"), ImplicitDeny},
		"no ARN":                  {when(`"ArnEquals":{"aws:Key":"*"}`), with("a"), ImplicitDeny},
		"true":                    {when(`"Bool":{"aws:Key":true}`), with("true"), Allowed},
		"not true":                {when(`"Bool":{"aws:Key":"true"}`), with("false"), ImplicitDeny},
		"absent, as it must be":   {when(`"Null":{"aws:Key":"true"}`), read(nil), Allowed},
		"present, wrongly":        {when(`"Null":{"aws:Key":"true"}`), with("a"), ImplicitDeny},
		"two keys, one holds":     {when(`"StringEquals":{"aws:Key":"a","aws:Other":"b"}`), with("a"), ImplicitDeny},
		"two operators":           {when(`"Bool":{"aws:Key":"a"},"Null":{"aws:Key":"true"}`), with("a"), ImplicitDeny},
		"any value":               {when(`"ForAnyValue:StringEquals":{"aws:Key":"a"}`), with("b", "a"), Allowed},
		"any value of none":       {when(`"ForAnyValue:StringEquals":{"aws:Key":"a"}`), read(nil), ImplicitDeny},
		"all values":              {when(`"ForAllValues:StringEquals":{"aws:Key":["a","b"]}`), with("b", "a"), Allowed},
		"all values but one":      {when(`"ForAllValues:StringEquals":{"aws:Key":["a"]}`), with("b", "a"), ImplicitDeny},
		"all values of none":      {when(`"ForAllValues:StringEquals":{"aws:Key":["a"]}`), read(nil), Allowed},
		"own rows":                {[]string{rows}, keys("basket#1", "basket#2"), Allowed},
		"a foreign row too":       {[]string{rows}, keys("basket#1", "order#2"), ImplicitDeny},
		"rows without keys":       {[]string{rows}, Request{"dynamodb:BatchGetItem", table, nil}, ImplicitDeny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Decide(policies(t, test.statements...), test.request)
			if err != nil || got != test.want {
				t.Errorf("%s is %s, %v; want %s", test.request, got, err, test.want)
			}
		})
	}
}

// What the simulator does not know is told, not guessed.
func TestUnknownIsAnError(t *testing.T) {
	t.Parallel()
	const all = `{"Effect":"Allow","Action":"*","Resource":"*"`
	when := func(condition string) string { return all + `,"Condition":{` + condition + `}}` }
	for name, test := range map[string]struct{ document, says string }{
		"an operator":  {when(`"IpAddress":{"aws:SourceIp":"::/0"}`), "IpAddress"},
		"a set":        {when(`"ForSome:Bool":{"k":"true"}`), "ForSome"},
		"Null of all":  {when(`"ForAllValues:Null":{"k":"true"}`), "Null"},
		"a variable":   {`{"Effect":"Allow","Action":"*","Resource":"arn:aws:s3:::${aws:username}"}`, "${aws:username}"},
		"one in a key": {when(`"StringLike":{"k":"${aws:username}"}`), "${aws:username}"},
		"an element":   {all + `,"Conditions":{}}`, "Conditions"},
		"a principal":  {`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}`, "Principal"},
		"an effect":    {`{"Effect":"allow","Action":"*","Resource":"*"}`, "allow"},
		"no action":    {`{"Effect":"Allow","Resource":"*"}`, "Action"},
		"both":         {all + `,"NotResource":"*"}`, "NotResource"},
		"a number":     {`{"Effect":"Allow","Action":1,"Resource":"*"}`, "neither"},
		"an intrinsic": {`{"Effect":"Allow","Action":"*","Resource":{"Ref":"Table"}}`, "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParsePolicy("p", []byte(`{"Version":"2012-10-17","Statement":[`+test.document+`]}`))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v does not say %q", err, test.says)
			}
		})
	}
	if _, err := ParsePolicy("p", []byte(`{"Version":"2008-10-17","Statement":[]}`)); err == nil {
		t.Error("an old version of the language is read as the new one")
	}
	several := policies(t, when(`"StringEquals":{"k":"a"}`))
	if got, err := Decide(several, Request{"x:Y", "*", map[string][]string{"k": {"a", "b"}}}); err == nil {
		t.Errorf("several values for an operator of one are %s", got)
	}
}
