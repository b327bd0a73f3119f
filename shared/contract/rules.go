package contract

import "slices"

// Rule is one check of tool.json or server.json.
type Rule struct {
	ID       string
	Severity Severity
	// What is checked, Why it matters, Source where it is laid down: a page of the MCP specification 2026-07-28, an RFC,
	// an AWS limit, or Patchbay's own reference.
	What, Why, Source string
}

// Explain returns the rule of an id.
func Explain(id string) (Rule, bool) {
	i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return Rules()[i], true
}

// Rules returns every rule, those of one subject together.
func Rules() []Rule {
	return slices.Concat(fileRules(), definitionRules(), schemaRules(), annotationRules(), consentRules(), callRules(),
		functionRules(), folderRules(), suppressionRules())
}

func fileRules() []Rule {
	return []Rule{
		{"json-encoding", SeverityError, "The file is UTF-8 without a byte order mark or half surrogate pairs.",
			"Definitions are served byte for byte; readers differ in what they make of anything else.", "RFC 8259, section 8"},
		{"json-size", SeverityError, "The file has at most 256 KiB.",
			"Definition and contract are one item of the catalogue, and a model reads the definition again and again.",
			"DynamoDB item size, 400 KB"},
		{"json-syntax", SeverityError, "The file is JSON, without comments and trailing commas.",
			"It is served as it is, and clients read JSON.", "RFC 8259"},
		{"duplicate-key", SeverityError, "No object has a key twice.",
			"Readers differ in which of the two counts.", "RFC 8259, section 4"},
		{"unknown-field", SeverityError, "Every field is known.",
			"A misspelled field would be a promise that nobody keeps.", "docs/tool-json.md"},
		{"wrong-type", SeverityError, "Every field has the JSON type that it is described with; null is no value.",
			"A value of another type would be dropped or misread.", "docs/tool-json.md"},
		{"wrong-value", SeverityError, "A field with a list of values has one of them.",
			"A misspelled value would be a promise that nobody keeps.", "docs/tool-json.md"},
		{"missing-field", SeverityError, "Required fields are there.",
			"Clients reject a tool or a server without them.", "server/tools#tool; schema 2026-07-28, Implementation"},
	}
}

func definitionRules() []Rule {
	return []Rule{
		{"name-charset", SeverityError, "A tool's name has 1 to 128 of A-Z a-z 0-9 _ - and dot.",
			"Clients and gateways rely on it, and the name travels in the header Mcp-Name.", "server/tools#tool-names"},
		{"name-model-api", SeverityWarning, "A tool's name also matches ^[a-zA-Z0-9_-]{1,64}$.",
			"Model APIs take no other names; a client must rename the tool, and your instructions then name one that the " +
				"model does not know.", "tool name patterns of the OpenAI and Anthropic APIs; Anthropic's takes 128 characters"},
		{"description-missing", SeverityError, "A tool has a description.",
			"It is all that a model has to choose the tool by.", "server/tools#tool"},
		{"description-short", SeverityWarning, "A description has at least 20 characters.",
			"A few words do not say when to use the tool and what comes back.", "server/tools#tool"},
		{"icon-source", SeverityError, "An icon's src is an https: URL or a data: URI.",
			"Clients must reject any other scheme.", "basic/index#icons"},
		{"icon-size", SeverityError, `An icon's size is "any" or like "48x48".`,
			"Clients choose an icon by it.", "schema 2026-07-28, Icon"},
		{"icon-theme", SeverityError, `An icon's theme is "light" or "dark".`,
			"Clients know no other.", "schema 2026-07-28, Icon"},
		{"meta-key", SeverityError, "A key of _meta is a name with an optional dotted prefix and a slash.",
			"The protocol allows no other form.", "basic/index#meta"},
		{"meta-reserved", SeverityError, "A key of _meta is neither the protocol's nor Patchbay's.",
			"A reserved key has a meaning that the author cannot give it.", "basic/index#meta"},
	}
}

func schemaRules() []Rule {
	return []Rule{
		{"input-schema-type", SeverityError, `The root of inputSchema says "type": "object".`,
			"Arguments are always an object, and clients reject a tool whose schema says anything else.",
			"schema 2026-07-28, Tool.inputSchema"},
		{"additional-properties", SeverityError, "The root of inputSchema decides additionalProperties.",
			"Left open, a misspelled argument is dropped in silence; refused, the model hears of it and corrects itself.",
			"server/tools#schema-examples"},
		{"parameter-description", SeverityError, "Every top-level parameter has a description.",
			"A model fills in what it understands.", "server/tools#tool"},
		{"property-description", SeverityWarning, "Every nested property has a description.",
			"A model fills in what it understands.", "server/tools#tool"},
		{"schema-invalid", SeverityError, "Schemas are valid, and of a supported dialect: 2020-12 or draft-07.",
			"Schemas must be valid according to their dialect, or clients read them in ways of their own.",
			"basic/index#json-schema-usage"},
		{"schema-outside", SeverityError, "Every $ref stays within its schema.",
			"Nothing is fetched for a schema, since that could be used to attack; so what it refers to would be missing.",
			"basic/index#json-schema-usage"},
		{"schema-bounds", SeverityError, "Schemas stay within bounds: size, depth, subschemas, work for one value.",
			"A schema without bounds can take all of a server's time or memory.", "basic/index#json-schema-usage"},
		{"output-schema-missing", SeverityError, "A function that gets its arguments alone has an outputSchema.",
			"Whatever it returns becomes structured content; without a schema nothing would hold it back.",
			"docs/tool-json.md"},
		{"output-schema-object", SeverityWarning, `The root of outputSchema says "type": "object".`,
			"Revisions before 2026-07-28 allow no other, and some of their clients drop the whole list of tools.",
			"schema 2025-11-25, Tool.outputSchema"},
		{"header-param-name", SeverityError, "x-mcp-header is a token of HTTP.",
			"Clients must reject a tool with any other.", headerSource},
		{"header-param-duplicate", SeverityError, "Each x-mcp-header is unique, whatever its letters' case.",
			"Clients must reject a tool with two.", headerSource},
		{"header-param-type", SeverityError, "A mirrored parameter is of type string, integer or boolean.",
			"Clients must reject a tool with another; a number has no one spelling.", headerSource},
		{"header-param-place", SeverityError, "x-mcp-header stands on properties that properties alone lead to.",
			"Clients must reject a tool where it stands elsewhere.", headerSource},
		{"header-param-secret", SeverityError, "No parameter that looks like a secret is mirrored into a header.",
			"Headers are seen and logged by everything on the way.", "server/tools#x-mcp-header"},
	}
}

const headerSource = "basic/transports/streamable-http#custom-headers-from-tool-parameters"

func annotationRules() []Rule {
	const source = "schema 2026-07-28, ToolAnnotations"
	return []Rule{
		{"annotation-readonly-destructive", SeverityError, "readOnlyHint and destructiveHint are not both true.",
			"They contradict each other.", source},
		{"annotation-readonly-effects", SeverityError, "A tool with readOnlyHint has no sideEffects.",
			"They contradict each other.", source},
		{"annotation-readonly-confirmed", SeverityError, "A tool with readOnlyHint needs no confirmation.",
			"Hosts run read-only tools without asking; high and critical risk are always confirmed.", source},
		{"annotation-readonly-dryrun", SeverityError, "A tool with readOnlyHint has no dry run.",
			"Reading needs no rehearsal.", source},
		{"annotation-readonly-idempotency", SeverityWarning, "A tool with readOnlyHint records no calls.",
			"Reading again costs less than a record, and gives fresh data.", source},
		{"annotation-destructive-risk", SeverityWarning, "A tool with destructiveHint is of more than low risk.",
			"Low risk leaves no audit record.", source},
		{"annotation-idempotent-unexplained", SeverityError, "A tool with idempotentHint says what a repeat does.",
			"A person who decides on a repeated call needs more than a flag.", source},
		{"annotation-idempotent-recorded", SeverityWarning, "idempotentHint does not lean on recorded calls.",
			"After a crash the dispatcher runs a tool with the hint again, so the function itself must bear it.",
			"docs/tool-json.md"},
	}
}

func consentRules() []Rule {
	return []Rule{
		{"risk-confirmation", SeverityError, "High and critical risk is confirmed.",
			"That is what these levels mean.", "docs/tool-json.md"},
		{"autonomous-confirmation", SeverityError, "A tool is either autonomous or confirmed.",
			"The two fields would contradict each other.", "docs/tool-json.md"},
		{"step-up", SeverityError, "A stepUp demands an acr, a maximum age, or both.",
			"A client is told to sign in again in a way that it can reach.", "RFC 9470"},
		{"scope-syntax", SeverityError, "Permissions are OAuth scopes.",
			"No token could carry anything else.", "RFC 6749, section 3.3"},
		{"visibility-permissions", SeverityError, `A tool of visibility "permitted" has permissions.`,
			"Without them it would be hidden from nobody.", "docs/tool-json.md"},
		{"side-effects", SeverityError, "Every side effect is a sentence.",
			"It is shown to the person who confirms.", "docs/tool-json.md"},
		{"audit-event", SeverityError, "auditEvent is a name of 1 to 128 of A-Z a-z 0-9 _ - and dot.",
			"Records are searched by it.", "docs/tool-json.md"},
	}
}

func callRules() []Rule {
	return []Rule{
		{"failure-mode", SeverityError, "A failure mode has a snake_case code and a description.",
			"Code, logs and callers name it.", "docs/tool-json.md"},
		{"repeated-value", SeverityError, "A list has each value once.",
			"The second is a mistake for another.", "docs/tool-json.md"},
		{"idempotency-unused", SeverityError, "keyArgument, whenAbsent and ttl come with a mode that records calls.",
			"Alone they promise what is not kept.", "docs/tool-json.md"},
		{"key-argument", SeverityError, "keyArgument names a top-level string parameter.",
			"A key is read from it.", "docs/tool-json.md"},
		{"ttl-range", SeverityError, "A time span is a whole number and one of s, m, h, d, within its bounds.",
			"A record must outlive a retry, and end.", "docs/tool-json.md"},
		{"dry-run-argument", SeverityError, "A tool with a dry run has the boolean parameter dryRun.",
			"Definitions are served as written, so a model knows only the parameters that stand there.", "docs/tool-json.md"},
		{"number-range", SeverityError, "Numbers are within their bounds.",
			"AWS refuses others, or they mean nothing.", "Lambda quotas; docs/tool-json.md"},
		{"result-size-recorded", SeverityError, "Where calls are recorded, results have at most 256 KiB.",
			"A result and its record share one item.", "DynamoDB item size, 400 KB"},
	}
}

func functionRules() []Rule {
	return []Rule{
		{"function-mixed", SeverityError, "A function is either an existing one (arn, payload) or the folder's own.",
			"How an existing function is made is not decided here.", "docs/tool-json.md"},
		{"function-arn", SeverityError, "An existing function is named by its ARN with a version or an alias.",
			"The code must be the one that the schema was written for.", "Lambda, Invoke, FunctionName and Qualifier"},
		{"function-handler", SeverityError, "Node.js and Python functions name their handler; Go functions have none.",
			"Lambda starts it by that name.", "Lambda, CreateFunction, Handler"},
		{"function-build", SeverityError, "build is a command and its arguments without empty words.",
			"It is run without a shell.", "docs/tool-json.md"},
		{"environment-name", SeverityError, "Variables have names that Lambda takes, and that are not reserved.",
			"The deployment would fail, or the runtime be misled.", "Lambda, configuration-envvars"},
		{"environment-secret", SeverityError, "No variable looks like a secret.",
			"Whoever may read a function's configuration, or this repository, would read it.", "docs/tool-json.md"},
		{"environment-size", SeverityError, "All variables together have at most 4 KB.",
			"Lambda takes no more.", "Lambda quotas"},
		{"secret-name", SeverityError, "A secret has a name that every secret store takes.",
			"It is looked up by that name.", "docs/tool-json.md"},
		{"state-name", SeverityError, "A namespace of state handles has 1 to 32 of a-z 0-9 _ -, a letter first.",
			"The function's role is held to it by the leading key.", "docs/tool-json.md"},
		{"execution-existing", SeverityError, "Memory, concurrency and network are set for the folder's own function only.",
			"Those of an existing function are set where it is deployed.", "docs/tool-json.md"},
		{"arguments-payload", SeverityError, "A function that gets its arguments alone has no dry run and no streaming.",
			"It could not know of them.", "docs/tool-json.md"},
		{"arguments-failures", SeverityWarning, "A function that gets its arguments alone has no failure modes.",
			"It has no way to name one.", "docs/tool-json.md"},
	}
}

func folderRules() []Rule {
	return []Rule{
		{"file-missing", SeverityError, "server.json is there.", "Every answer says which server it is from.",
			"server/discover"},
		{"file-unreadable", SeverityError, "Files and folders can be read.", "What cannot be read cannot be checked.",
			"docs/tool-json.md"},
		{"folder-name", SeverityError, "A tool's folder has a name of a-z 0-9 _, a letter first.",
			"It is a Go package, a file name and part of a function's name.", "docs/tool-json.md"},
		{"duplicate-tool", SeverityError, "No two tools have one name.", "A call names its tool and nothing else.",
			"server/tools#tool-names"},
		{"timeout-server", SeverityError, "A tool's timeout is within the server's maxCallSeconds.",
			"The gateway would give up first, while the tool still works.", "docs/tool-json.md"},
		{"server-empty", SeverityError, "The server's name and version are not empty.",
			"Clients and logs tell servers apart by them.", "schema 2026-07-28, Implementation"},
		{"website-url", SeverityError, "websiteUrl is an https: URL.", "Clients show it as a link.",
			"schema 2026-07-28, Implementation"},
	}
}

func suppressionRules() []Rule {
	return []Rule{
		{"suppress-form", SeverityError, "A suppression names a check, gives a reason in a sentence, and may point.",
			"Whoever reads it later judges by the reason whether it still holds.", "docs/tool-json.md"},
		{"suppress-error", SeverityError, "Only warnings are suppressed.",
			"An error is a fault that a client, AWS or the dispatcher would meet in any case.", "docs/tool-json.md"},
	}
}
