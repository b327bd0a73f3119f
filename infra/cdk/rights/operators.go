package rights

import (
	"maps"
	"slices"
	"strings"

	"patchbay/infra/cdk/iamsim"
)

// lever is what a person may do who has one of the policies for operators, and some of what he must not.
type lever struct {
	may, mayNot []question
	// audited levers write to the operators' log.
	audited bool
}

// CheckOperators asks the same of the policies for people as Check does of roles. It wants exactly the levers that it
// knows.
func (d *Deployment) CheckOperators(t T) {
	t.Helper()
	policies, err := iamsim.ManagedPolicies(d.Stack)
	if err != nil {
		t.Fatal(err)
	}
	levers := d.levers()
	var names []string
	for arn, policy := range policies {
		_, name, _ := strings.Cut(arn, ":policy/"+d.prefix()+"-")
		names = append(names, name)
		who := &iamsim.Role{ARN: arn, Policies: []iamsim.Policy{policy}}
		may(t, who, levers[name].may...)
		mayNot(t, who, levers[name].mayNot...)
		d.checkAnyOperator(t, who, levers[name])
	}
	slices.Sort(names)
	if want := slices.Sorted(maps.Keys(levers)); !slices.Equal(names, want) {
		t.Errorf("there are policies for %v; their rights are known of %v", names, want)
	}
}

// checkAnyOperator asks what no lever may: run tools, change code or tables, cover one's tracks.
func (d *Deployment) checkAnyOperator(t T, who *iamsim.Role, of lever) {
	t.Helper()
	tool := d.lambda(d.prefix() + "-tool-a-01234567")
	audit := d.arn("logs", "log-group:/patchbay/"+d.prefix()+"/operators:log-stream:ada")
	mayNot(t, who,
		question{"lambda:InvokeFunction", tool + ":1", nil},
		question{"lambda:DeleteFunction " + functionAdmin, tool, nil},
		question{"iam:PassRole sts:AssumeRole", "arn:aws:iam::" + d.Account + ":role/any", nil},
		question{logAdmin, audit, nil},
		question{tableRead + " " + tableWrite, d.table("state"), leading("state#baskets#a#b")},
		question{"dynamodb:GetItem dynamodb:PutItem", d.arn("dynamodb", "table/another-registry"), leading("HEAD")},
	)
	for _, table := range []string{"registry", "ledger", "state"} {
		mayNot(t, who, question{tableAdmin + " " + tableScan, d.table(table), nil})
	}
	write := question{"logs:CreateLogStream logs:PutLogEvents", audit, nil}
	if of.audited {
		may(t, who, write)
	} else {
		mayNot(t, who, write)
	}
}

func (d *Deployment) levers() map[string]lever {
	registry, ledger := d.table("registry"), d.table("ledger")
	head, snapshot, manifests := leading("HEAD"), leading("SNAP#a"), leading("SNAPSHOTS")
	record, result := leading("LEASE#a"), leading("RESULT#a#b")
	version := d.lambda(d.prefix() + "-tool-a-01234567:3")
	keys := d.secret(d.prefix() + "/seal-keys")
	registrar := d.lambda(d.prefix() + "-registrar")
	// By the version and by the function: which of them Lambda asks about is not documented.
	readable := []question{
		{"lambda:GetFunctionConfiguration", version, nil}, {"lambda:GetFunctionConfiguration", unqualified(version), nil},
	}
	for _, arn := range d.Existing {
		readable = append(readable, question{"lambda:GetFunctionConfiguration", arn, nil},
			question{"lambda:GetFunctionConfiguration", unqualified(arn), nil})
	}
	viaCloudFormation := map[string][]string{"aws:CalledVia": {"cloudformation.amazonaws.com"}}
	return map[string]lever{
		"tool-switch": {
			audited: true,
			may:     []question{{"dynamodb:GetItem dynamodb:PutItem", registry, head}, {"dynamodb:GetItem", registry, snapshot}},
			mayNot: []question{
				{tableWrite, registry, snapshot}, {tableWrite, registry, manifests},
				{"dynamodb:GetItem", ledger, record}, {"secretsmanager:GetSecretValue", keys, nil},
			},
		},
		"tool-publish": {
			audited: true,
			may:     []question{{"lambda:InvokeFunction", registrar + ":operators", nil}},
			mayNot: []question{
				{"lambda:InvokeFunction", registrar, nil}, {"lambda:InvokeFunction", registrar, viaCloudFormation},
				{"lambda:InvokeFunction", registrar + ":1", nil}, {"lambda:InvokeFunction", registrar + ":$LATEST", nil},
				{"lambda:InvokeFunction", registrar + ":operators2", nil},
				{functionAdmin + " lambda:UpdateAlias lambda:GetFunction", registrar + ":operators", nil},
				{tableRead + " " + tableWrite, registry, head}, {tableRead + " " + tableWrite, registry, snapshot},
				{"lambda:GetFunctionConfiguration", version, nil},
				{"dynamodb:GetItem", ledger, record}, {"secretsmanager:GetSecretValue", keys, nil},
			},
		},
		"catalogue": {
			audited: true,
			may: append([]question{
				{"dynamodb:GetItem dynamodb:PutItem", registry, head},
				{"dynamodb:GetItem dynamodb:Query dynamodb:BatchWriteItem", registry, snapshot},
				{"dynamodb:GetItem dynamodb:Query dynamodb:PutItem dynamodb:UpdateItem", registry, manifests},
				{"dynamodb:Query", registry, leading("RETIRED")},
			}, readable...),
			mayNot: []question{
				{"dynamodb:DeleteItem", registry, head}, {tableWrite, registry, leading("RETIRED")},
				{"dynamodb:GetItem", ledger, record}, {"secretsmanager:GetSecretValue", keys, nil},
			},
		},
		"ledger": {
			audited: true,
			may: []question{
				{"dynamodb:GetItem dynamodb:PutItem dynamodb:DeleteItem", ledger, record}, {"dynamodb:GetItem", ledger, result},
			},
			mayNot: []question{
				{tableWrite, ledger, leading("LIMIT#a#1")}, {tableWrite, ledger, leading("RECEIPT#a")},
				{tableWrite, registry, head}, {"secretsmanager:GetSecretValue", keys, nil},
			},
		},
		"calls": {
			audited: true,
			may: []question{
				{"logs:FilterLogEvents", d.arn("logs", "log-group:/aws/apigateway/"+d.prefix()+":log-stream:"), nil},
				{"logs:FilterLogEvents", d.arn("logs", "log-group:/aws/lambda/"+d.prefix()+"-dispatcher:log-stream:"), nil},
				{"logs:FilterLogEvents", d.arn("logs", "log-group:/aws/lambda/"+d.prefix()+"-tool-a-0:log-stream:"), nil},
				{"dynamodb:GetItem", registry, head}, {"dynamodb:GetItem dynamodb:Query", registry, snapshot},
			},
			mayNot: []question{
				{"logs:FilterLogEvents", d.arn("logs", "log-group:/aws/lambda/another-dispatcher:log-stream:"), nil},
				{"logs:FilterLogEvents", d.arn("logs", "log-group:/patchbay/"+d.prefix()+"/operators:log-stream:"), nil},
				{tableWrite, registry, head}, {tableRead + " " + tableWrite, ledger, record},
			},
		},
		"keys": {
			audited: true,
			may:     []question{{"secretsmanager:GetSecretValue secretsmanager:PutSecretValue", keys, nil}},
			mayNot: []question{
				{"secretsmanager:DeleteSecret secretsmanager:PutResourcePolicy", keys, nil},
				{"secretsmanager:GetSecretValue", d.secret(d.prefix() + "/tools/tracker_api_token"), nil},
				{tableWrite, registry, head},
			},
		},
		"publish": {
			may: []question{
				{"lambda:InvokeFunction", registrar, viaCloudFormation},
				{"ssm:GetParameters", d.arn("ssm", "parameter/"+d.prefix()+"/registrar"), nil},
			},
			mayNot: []question{
				{"lambda:InvokeFunction", registrar, nil}, // by hand, in the name of any stack
				{"lambda:InvokeFunction", registrar + ":operators", nil},
				{"lambda:InvokeFunction", registrar, map[string][]string{"aws:CalledVia": {"athena.amazonaws.com"}}},
				{tableRead + " " + tableWrite, registry, head},
				{"ssm:PutParameter", d.arn("ssm", "parameter/"+d.prefix()+"/registrar"), nil},
			},
		},
	}
}
