package assembly

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T) *Stack {
	t.Helper()
	a, err := Open(filepath.Join("testdata", "small"),
		Environment{Partition: "aws", Region: "eu-west-1", Account: "111122223333"})
	if err != nil {
		t.Fatal(err)
	}
	stack, err := a.Stack("shop-dev-stack")
	if err != nil {
		t.Fatal(err)
	}
	return stack
}

func TestResources(t *testing.T) {
	t.Parallel()
	stack := open(t)
	var got []string
	for _, r := range stack.Resources("AWS::Lambda::Function", "AWS::IAM::Role") {
		arn, err := r.ARN()
		if err != nil {
			t.Error(err)
		}
		got = append(got, arn)
	}
	want := []string{
		"arn:aws:lambda:eu-west-1:111122223333:function:shop-dev-stack-Dispatcher",
		"arn:aws:iam::111122223333:role/shop-dev-stack-DispatcherRole",
		"arn:aws:iam::111122223333:role/quote",
		"arn:aws:lambda:eu-west-1:111122223333:function:shop-dev-tool-quote-0123abcd",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(stack.Assets) != 2 || !stack.Assets[1].Zip || stack.Assets[1].Key != "cccc.zip" {
		t.Errorf("assets %+v", stack.Assets)
	}
	if table, ok := stack.find("Table"); !ok || table.DeletionPolicy != "Retain" {
		t.Errorf("got %+v", table)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	stack := open(t)
	nested := stack.Nested()["Tools"]
	const queue = "arn:aws:sqs:eu-west-1:111122223333:shop-dev-stack-Queue"
	const parameter = "arn:aws:ssm:eu-west-1:111122223333:parameter/shop/prices"
	const table = "arn:aws:dynamodb:eu-west-1:111122223333:table/shop-dev-state"
	const version = "arn:aws:lambda:eu-west-1:111122223333:function:shop-dev-tool-quote-0123abcd:1"
	for value, test := range map[string]struct {
		stack *Stack
		want  string
	}{
		`{"Ref":"Table"}`:                                                {stack, `"shop-dev-state"`},
		`{"Ref":"Queue"}`:                                                {stack, `"shop-dev-stack-Queue"`},
		`{"Fn::GetAtt":"Queue.Arn"}`:                                     {stack, `"` + queue + `"`},
		`{"Fn::GetAtt":["Prices","Arn"]}`:                                {stack, `"` + parameter + `"`},
		`{"Fn::GetAtt":["Tools","Outputs.Version"]}`:                     {stack, `"` + version + `"`},
		`{"Ref":"TableArn"}`:                                             {nested, `"` + table + `"`},
		`{"Ref":"AWS::StackName"}`:                                       {stack, `"shop-dev-stack"`},
		`{"Ref":"BootstrapVersion"}`:                                     {stack, `"/cdk-bootstrap/hnb659fds/version"`},
		`{"Fn::Sub":"${Table}/${Queue.Arn}/${!X}"}`:                      {stack, `"shop-dev-state/` + queue + `/${X}"`},
		`{"Fn::Sub":["${A}-${AWS::Region}",{"A":"b"}]}`:                  {stack, `"b-eu-west-1"`},
		`{"Fn::Select":[2,{"Fn::Split":[":","a:b:c"]}]}`:                 {stack, `"c"`},
		`{"Fn::Join":["-",["a",{"Ref":"AWS::Region"},1]]}`:               {stack, `"a-eu-west-1-1"`},
		`{"A":{"Ref":"AWS::NoValue"},"B":[{"Ref":"AWS::NoValue"},true]}`: {stack, `{"B":[true]}`},
	} {
		var written any
		if err := json.Unmarshal([]byte(value), &written); err != nil {
			t.Fatal(err)
		}
		got, err := test.stack.Resolve(written)
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if data, err := json.Marshal(got); err != nil || string(data) != test.want {
			t.Errorf("%s is %s, %v; want %s", value, data, err, test.want)
		}
	}
}

func TestParametersOfSystemsManager(t *testing.T) {
	t.Parallel()
	stack, err := New("s", []byte(`{"Parameters":{
		"Token":{"Type":"AWS::SSM::Parameter::Value<String>","Default":"/shop/token"},
		"Text":{"Type":"String","Default":"/shop/text"}}}`),
		Environment{Parameter: func(name string) (string, error) { return "value of " + name, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Token": "value of /shop/token", "Text": "/shop/text"} {
		if got, err := stack.Text(map[string]any{"Ref": name}); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
}

func TestUnknownIsAnError(t *testing.T) {
	t.Parallel()
	stack := open(t)
	for value, says := range map[string]string{
		`{"Ref":"Nothing"}`:                          "Nothing",
		`{"Fn::GetAtt":["Queue","Colour"]}`:          "Colour",
		`{"Fn::GetAtt":["Catalogue","Arn"]}`:         "Custom::PatchbayTools",
		`{"Fn::GetAtt":["Tools","Outputs.None"]}`:    "None",
		`{"Fn::ImportValue":"x"}`:                    "Fn::ImportValue",
		`{"Fn::FindInMap":["a","b"]}`:                "not known",
		`{"Fn::Sub":"${Nothing}"}`:                   "Nothing",
		`{"Fn::Select":[3,["a"]]}`:                   "no element 3",
		`{"A":[{"Fn::Join":["",[{"Ref":"Gone"}]]}]}`: "Gone",
	} {
		var written any
		if err := json.Unmarshal([]byte(value), &written); err != nil {
			t.Fatal(err)
		}
		if got, err := stack.Resolve(written); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s is %v, %v; want an error that says %q", value, got, err, says)
		}
	}
	if _, err := Open(t.TempDir(), Environment{}); err == nil {
		t.Error("a folder without a manifest is an assembly")
	}
}
