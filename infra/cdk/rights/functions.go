package rights

import (
	"slices"
	"strings"

	"patchbay/shared/contract"
)

// What nobody who runs code may do: to what holds data, to the code itself, to rights.
const (
	tableAdmin    = "dynamodb:DeleteTable dynamodb:UpdateTable dynamodb:UpdateTimeToLive dynamodb:UpdateContinuousBackups"
	tableScan     = "dynamodb:Scan dynamodb:ExportTableToPointInTime dynamodb:PartiQLSelect"
	tableWrite    = "dynamodb:PutItem dynamodb:UpdateItem dynamodb:DeleteItem dynamodb:BatchWriteItem"
	tableRead     = "dynamodb:GetItem dynamodb:Query dynamodb:BatchGetItem"
	functionAdmin = "lambda:UpdateFunctionCode lambda:UpdateFunctionConfiguration lambda:AddPermission " +
		"lambda:PublishVersion lambda:PutFunctionConcurrency lambda:CreateAlias"
	logAdmin = "logs:DeleteLogGroup logs:DeleteLogStream logs:PutRetentionPolicy"
	logRead  = "logs:GetLogEvents logs:FilterLogEvents"
)

// checkAnyFunction asks about what all functions have in common.
func (d *Deployment) checkAnyFunction(t T, f function) {
	t.Helper()
	if !slices.Equal(f.role.Services, []string{"lambda.amazonaws.com"}) {
		t.Errorf("%s can be taken on by %v", f.role.ARN, f.role.Services)
	}
	may(t, f.role,
		question{"logs:CreateLogStream logs:PutLogEvents", d.stream(f.name), nil},
		question{"xray:PutTraceSegments xray:PutTelemetryRecords", "*", nil},
	)
	mayNot(t, f.role,
		question{"logs:CreateLogGroup", d.arn("logs", "log-group:/aws/lambda/"+f.name), nil},
		question{logAdmin + " " + logRead, d.stream(f.name), nil},
		question{functionAdmin + " lambda:DeleteFunction", f.arn, nil},
		question{"lambda:GetFunction", f.arn + ":1", nil}, // the environment and the code
		question{"iam:PassRole sts:AssumeRole iam:PutRolePolicy", f.role.ARN, nil},
		question{"secretsmanager:ListSecrets ssm:DescribeParameters lambda:ListFunctions dynamodb:ListTables", "*", nil},
		question{"secretsmanager:GetSecretValue", d.secret("somebody-elses"), nil},
		question{"ssm:GetParameter", d.arn("ssm", "parameter/somebody-elses"), nil},
		question{"s3:ListBucket", "arn:aws:s3:::" + d.assets(), nil},
	)
	for other := range d.functions {
		if other == f.name {
			continue
		}
		mayNot(t, f.role,
			question{"logs:CreateLogStream logs:PutLogEvents", d.stream(other), nil},
			question{"lambda:InvokeFunction lambda:UpdateFunctionCode", d.lambda(other), nil})
	}
	// A name that only begins alike is another function.
	mayNot(t, f.role, question{"logs:CreateLogStream logs:PutLogEvents", d.stream(f.name + "-2"), nil})
	for _, table := range []string{"registry", "ledger", "state"} {
		mayNot(t, f.role, question{tableAdmin + " " + tableScan, d.table(table), nil})
	}
}

// assets is the bucket that the CDK uploads to.
func (d *Deployment) assets() string { return "cdk-hnb659fds-assets-" + d.Account + "-" + d.Region }

func (d *Deployment) checkDispatcher(t T) {
	t.Helper()
	role := d.functions[d.prefix()+"-dispatcher"].role
	may(t, role,
		question{"dynamodb:GetItem dynamodb:Query", d.table("registry"), leading("HEAD")},
		question{"dynamodb:GetItem dynamodb:Query", d.table("registry"), leading("SNAP#a")},
		question{"dynamodb:GetItem dynamodb:PutItem dynamodb:DeleteItem", d.table("ledger"), leading("LEASE#a")},
		question{"dynamodb:UpdateItem", d.table("ledger"), leading("LIMIT#a#1")},
		question{"secretsmanager:GetSecretValue", d.secret(d.prefix() + "/seal-keys"), nil},
	)
	mayNot(t, role,
		question{tableWrite, d.table("registry"), leading("HEAD")},
		question{tableRead + " " + tableWrite, d.table("state"), leading("state#baskets#a#b")},
		question{"secretsmanager:PutSecretValue secretsmanager:DeleteSecret", d.secret(d.prefix() + "/seal-keys"), nil},
		question{"secretsmanager:GetSecretValue", d.secret(d.prefix() + "/seal-keys-old"), nil},
		question{"s3:GetObject", "arn:aws:s3:::" + d.assets() + "/0123.json", nil},
	)
	for _, f := range d.byTool {
		may(t, role,
			question{"lambda:InvokeFunction", f.arn + ":1", nil},
			question{"lambda:InvokeFunction", f.arn + ":977", nil})
		mayNot(t, role, question{"lambda:InvokeFunction", f.arn, nil}, // code that no contract was checked against
			question{functionAdmin + " lambda:DeleteFunction", f.arn + ":1", nil})
	}
	// A stack that publishes tools later is covered already.
	tomorrow := d.lambda(d.prefix() + "-tool-of-tomorrow-01234567:3")
	may(t, role, question{"lambda:InvokeFunction", tomorrow, nil})
	mayNot(t, role,
		question{"lambda:InvokeFunction", d.lambda(d.prefix() + "-registrar"), nil},
		question{"lambda:InvokeFunction", d.lambda(d.prefix() + "-registrar:1"), nil},
		question{"lambda:InvokeFunction", d.lambda(d.prefix() + "-dispatcher:1"), nil},
		question{"lambda:InvokeFunction", d.lambda(d.prefix() + "-too-01234567:1"), nil},
		question{"lambda:InvokeFunction", d.lambda("another-" + d.prefix() + "-tool-a-01234567:1"), nil},
		question{"lambda:InvokeFunction", d.lambda("anything:live"), nil},
		question{"lambda:InvokeFunction", strings.Replace(tomorrow, d.Account, "999999999999", 1), nil},
		question{"lambda:InvokeFunction", strings.Replace(tomorrow, d.Region, "ap-east-1", 1), nil},
	)
	for _, arn := range d.Existing {
		may(t, role, question{"lambda:InvokeFunction", arn, nil})
		name := unqualified(arn)
		mayNot(t, role, question{"lambda:InvokeFunction", name, nil}, question{"lambda:InvokeFunction", name + ":other", nil})
	}
}

// checkAuthorizer asks about the function that anybody's requests reach first.
func (d *Deployment) checkAuthorizer(t T) {
	t.Helper()
	f, ok := d.functions[d.prefix()+"-authorizer"]
	if !ok {
		t.Errorf("there is no function %s-authorizer", d.prefix())
		return
	}
	may(t, f.role,
		question{"dynamodb:GetItem dynamodb:Query", d.table("registry"), leading("HEAD")},
		question{"dynamodb:GetItem dynamodb:Query", d.table("registry"), leading("SNAP#a")},
	)
	mayNot(t, f.role,
		question{tableWrite, d.table("registry"), leading("HEAD")},
		question{tableRead + " " + tableWrite, d.table("ledger"), leading("LEASE#a")},
		question{tableRead + " " + tableWrite, d.table("state"), leading("state#baskets#a#b")},
		question{"secretsmanager:GetSecretValue", d.secret(d.prefix() + "/seal-keys"), nil},
		question{"lambda:InvokeFunction", d.lambda(d.prefix() + "-dispatcher:1"), nil},
		question{"lambda:InvokeFunction", d.lambda(d.prefix() + "-registrar:1"), nil},
		question{"lambda:InvokeFunction", d.lambda(d.prefix() + "-tool-a-01234567:1"), nil},
		question{"lambda:GetFunctionConfiguration", d.lambda(d.prefix() + "-tool-a-01234567:1"), nil},
		question{"s3:GetObject", "arn:aws:s3:::" + d.assets() + "/0123.json", nil},
		question{networkActions, "*", nil},
	)
	for _, name := range d.secrets {
		read := d.readSecret(name)
		mayNot(t, f.role, read)
	}
	for _, tool := range d.byTool {
		mayNot(t, f.role, question{"lambda:InvokeFunction", tool.arn, nil},
			question{"lambda:InvokeFunction", tool.arn + ":1", nil})
	}
	for _, arn := range d.Existing {
		mayNot(t, f.role, question{"lambda:InvokeFunction", arn, nil})
	}
}

func (d *Deployment) checkRegistrar(t T) {
	t.Helper()
	role := d.functions[d.prefix()+"-registrar"].role
	may(t, role,
		question{"dynamodb:GetItem dynamodb:PutItem", d.table("registry"), leading("HEAD")},
		question{"dynamodb:Query dynamodb:PutItem dynamodb:UpdateItem", d.table("registry"), leading("SNAPSHOTS")},
		question{"dynamodb:Query dynamodb:PutItem", d.table("registry"), leading("RETIRED")},
		question{"dynamodb:Query dynamodb:BatchWriteItem", d.table("registry"), leading("SNAP#a")},
	)
	for _, asset := range d.Stack.Assets {
		if strings.HasSuffix(asset.Key, ".json") {
			may(t, role, question{"s3:GetObject", "arn:aws:s3:::" + d.assets() + "/" + asset.Key, nil})
		} else {
			mayNot(t, role, question{"s3:GetObject", "arn:aws:s3:::" + d.assets() + "/" + asset.Key, nil})
		}
	}
	for _, f := range d.byTool {
		may(t, role, question{"lambda:GetFunctionConfiguration lambda:DeleteFunction", f.arn + ":3", nil})
		mayNot(t, role, question{"lambda:DeleteFunction", f.arn, nil}, // all of it, not a version
			question{"lambda:InvokeFunction " + functionAdmin, f.arn + ":3", nil})
	}
	for _, arn := range d.Existing {
		may(t, role, question{"lambda:GetFunctionConfiguration", arn, nil},
			question{"lambda:GetFunctionConfiguration", unqualified(arn), nil})
		mayNot(t, role, question{"lambda:DeleteFunction lambda:InvokeFunction", arn, nil})
	}
	mayNot(t, role,
		question{"lambda:DeleteFunction", d.lambda(d.prefix() + "-dispatcher"), nil},
		question{"lambda:DeleteFunction", d.lambda(d.prefix() + "-dispatcher:3"), nil},
		question{"lambda:DeleteFunction", d.lambda(d.prefix() + "-registrar:3"), nil},
		question{"lambda:DeleteFunction", d.lambda("foreign:3"), nil},
		question{tableRead + " " + tableWrite, d.table("ledger"), leading("LEASE#a")},
		question{tableRead + " " + tableWrite, d.table("state"), leading("state#baskets#a#b")},
		question{"secretsmanager:GetSecretValue", d.secret(d.prefix() + "/seal-keys"), nil},
		question{"s3:PutObject s3:DeleteObject", "arn:aws:s3:::" + d.assets() + "/0123.json", nil},
		question{"s3:GetObject", "arn:aws:s3:::somebody-elses/0123.json", nil},
	)
}

func (d *Deployment) checkTool(t T, tool *contract.Tool) {
	t.Helper()
	f, own := d.byTool[tool.Name]
	if !own {
		return // an existing function, whose role is its owner's
	}
	mayNot(t, f.role,
		question{"lambda:InvokeFunction", f.arn, nil},
		question{"lambda:InvokeFunction", d.lambda(d.prefix() + "-tool-a-01234567:1"), nil},
		question{tableRead + " " + tableWrite, d.table("registry"), leading("HEAD")},
		question{tableRead + " " + tableWrite, d.table("ledger"), leading("LEASE#a")},
		question{tableRead + " " + tableWrite, d.table("state"), leading("state#somebody_elses#a#b")},
		question{tableRead + " " + tableWrite, d.table("state"), nil},
		question{"secretsmanager:GetSecretValue", d.secret(d.prefix() + "/seal-keys"), nil},
		question{"s3:GetObject", "arn:aws:s3:::" + d.assets() + "/0123.json", nil},
	)
	d.checkSecrets(t, f, tool)
	d.checkState(t, f, tool)
	if tool.Contract.Execution.Network == contract.NetworkVPC {
		d.checkNetwork(t, f)
		return
	}
	mayNot(t, f.role, question{networkActions, "*", nil})
}

// checkSecrets asks about secrets that some contract names: the tool's own, and those of others.
func (d *Deployment) checkSecrets(t T, f function, tool *contract.Tool) {
	t.Helper()
	for _, name := range d.secrets {
		read := d.readSecret(name)
		if slices.Contains(tool.Contract.Function.Secrets, name) {
			may(t, f.role, read)
		} else {
			mayNot(t, f.role, read)
		}
		mayNot(t, f.role,
			question{"secretsmanager:PutSecretValue secretsmanager:DeleteSecret ssm:PutParameter", read.resource, nil},
			question{read.actions, read.resource + "/more", nil},
			question{"secretsmanager:GetSecretValue", d.secret("another-deployment/" + name), nil},
		)
	}
}

// readSecret is the reading of a secret from where the settings say that it lies.
func (d *Deployment) readSecret(name string) question {
	where := d.Stage.Secret(name)
	switch {
	case where.Parameter != "":
		return question{"ssm:GetParameter", d.arn("ssm", "parameter/"+strings.TrimPrefix(where.Parameter, "/")), nil}
	case strings.HasPrefix(where.Secret, "arn:"):
		return question{"secretsmanager:GetSecretValue", where.Secret, nil}
	}
	return question{"secretsmanager:GetSecretValue", d.secret(where.Secret), nil}
}

// checkState asks about rows of namespaces that some contract names.
func (d *Deployment) checkState(t T, f function, tool *contract.Tool) {
	t.Helper()
	const used = "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem dynamodb:DeleteItem"
	for _, namespace := range d.namespaces {
		rows := question{used, d.table("state"), leading("state#" + namespace + "#9f86#2c62")}
		if slices.Contains(tool.Contract.Function.State, namespace) {
			may(t, f.role, rows)
		} else {
			mayNot(t, f.role, rows)
		}
		mayNot(t, f.role,
			question{used + " dynamodb:BatchGetItem dynamodb:BatchWriteItem", d.table("state"),
				leading("state#"+namespace+"#9f86#2c62", "state#somebody_elses#9f86#2c62")},
			question{used, d.table("state"), leading("state#" + namespace + "_2#9f86#2c62")},
			question{used, d.table("state"), leading(namespace)},
			question{"dynamodb:Query", d.table("state"), leading("state#" + namespace + "#9f86#2c62")},
		)
	}
}

const networkActions = "ec2:CreateNetworkInterface ec2:DeleteNetworkInterface ec2:DescribeNetworkInterfaces " +
	"ec2:DescribeSubnets ec2:AssignPrivateIpAddresses ec2:UnassignPrivateIpAddresses"

// checkNetwork asks for what Lambda does by the role of a function in a network, and the function's code must not.
func (d *Deployment) checkNetwork(t T, f function) {
	t.Helper()
	may(t, f.role, question{networkActions, "*", nil})
	mayNot(t, f.role, question{networkActions, "*", map[string][]string{"lambda:SourceFunctionArn": {f.arn}}})
}

// leading is the context of a request for items with these partition keys.
func leading(keys ...string) map[string][]string {
	return map[string][]string{"dynamodb:LeadingKeys": keys}
}
