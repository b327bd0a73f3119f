package contract

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// localPrefix marks a function of the local stack in the place of an ARN.
const localPrefix = "local:"

// The forms that AWS gives its names: Lambda's FunctionName, Qualifier, Handler and Environment in its API reference.
var (
	lambdaARN = lazily(
		`^arn:aws(?:-cn|-us-gov)?:lambda:[a-z]{2}(?:-[a-z]+)+-[0-9]:[0-9]{12}:function:[a-zA-Z0-9_-]{1,64}(:.+)?$`)
	localFunction = lazily(`^local:[a-zA-Z0-9_-]{1,64}$`)
	qualifier     = lazily(`^:[a-zA-Z0-9_-]{1,128}$`)
	handlerName   = lazily(`^[A-Za-z0-9_./-]+\.[A-Za-z0-9_]+$`)
	variableName  = lazily(`^[A-Za-z][A-Za-z0-9_]+$`)
	secretName    = lazily(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	stateName     = lazily(`^[a-z][a-z0-9_-]{0,31}$`)
)

func (c *checker) checkFunction(k *Contract) {
	if c.has("contract", "function", "arn") {
		c.checkExisting(&k.Function)
		return
	}
	c.checkOwn(&k.Function)
}

// checkExisting checks a function that somebody else deploys: nothing about how it is made can be said here.
func (c *checker) checkExisting(f *Function) {
	const pointer = "/contract/function"
	for _, key := range []string{"runtime", "handler", "build", "environment", "secrets", "state"} {
		if c.has("contract", "function", key) {
			c.report("function-mixed", child(pointer, key), `with "arn" only "payload"`,
				"%s is of a function that is made here, but the arn names an existing one", key)
		}
	}
	for _, key := range []string{"memoryMB", "concurrency", "network"} {
		if c.has("contract", "execution", key) {
			c.report("execution-existing", child("/contract/execution", key), `"timeoutSeconds" and "streaming"`,
				"%s of an existing function is set where it is deployed", key)
		}
	}
	c.checkARN(f.ARN)
}

func (c *checker) checkARN(arn string) {
	const (
		pointer = "/contract/function/arn"
		allowed = "arn:aws:lambda:REGION:ACCOUNT:function:NAME:VERSION-OR-ALIAS, or local:NAME in the local stack"
	)
	match := lambdaARN().FindStringSubmatch(arn)
	switch {
	case localFunction.match(arn):
	case match == nil:
		c.report("function-arn", pointer, allowed, "%q is no ARN of a Lambda function", arn)
	case match[1] == "":
		c.report("function-arn", pointer, allowed, "the ARN names no version or alias, so the code behind the checked "+
			"schema could change at any time")
	case !qualifier.match(match[1]):
		c.report("function-arn", pointer, allowed, "%q is neither a version nor an alias", match[1][1:])
	}
}

// checkOwn checks the function that is made from the tool's folder.
func (c *checker) checkOwn(f *Function) {
	const pointer = "/contract/function"
	if c.has("contract", "function", "payload") {
		c.report("function-mixed", pointer+"/payload", `"payload" only beside "arn"`,
			"a function that is made here always gets the envelope")
	}
	c.checkHandler(f)
	for i, word := range f.Build {
		if word == "" {
			c.report("function-build", item(pointer+"/build", i), `a command and its arguments, like ["npm", "run", "build"]`,
				"an empty word in a command")
		}
	}
	c.checkEnvironment(f.Environment)
	c.checkNames("secret-name", f.Secrets, pointer+"/secrets", secretName,
		`a name like "tracker_api_token": a letter, then up to 63 of A-Z a-z 0-9 _ . -`)
	c.checkNames("state-name", f.State, pointer+"/state", stateName,
		`a name like "basket": a letter, then up to 31 of a-z 0-9 _ -`)
}

func (c *checker) checkHandler(f *Function) {
	const pointer = "/contract/function/handler"
	given := c.has("contract", "function", "handler")
	switch f.Runtime {
	case RuntimeGo:
		if given {
			c.report("function-handler", pointer, "no field", "a Go program is its own handler")
		}
	case RuntimeNodeJS, RuntimePython:
		if !handlerName.match(f.Handler) || len(f.Handler) > 128 {
			c.report("function-handler", pointer, `a file without its ending, a dot and a function, like "main.handler"`,
				"%q is no handler of a %s function", f.Handler, f.Runtime)
		}
	}
}

// checkEnvironment holds variables to Lambda's rules (configuration-envvars.html), and keeps secrets out of them, since
// everyone who may read a function's configuration can read them.
func (c *checker) checkEnvironment(environment map[string]string) {
	const pointer = "/contract/function/environment"
	size := 0
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		at := child(pointer, name)
		size += len(name) + len(environment[name])
		switch {
		case !variableName.match(name) || isReservedVariable(name):
			c.report("environment-name", at, "two or more of A-Z a-z 0-9 _, a letter first, not beginning with AWS_, LAMBDA_ "+
				"or PATCHBAY_", "the variable %q cannot be set", name)
		case LooksSecret(name):
			c.report("environment-secret", at, `its name in "secrets", and shared/secret in the function`,
				"the variable %q looks like a secret", name)
		}
	}
	if size > MaxEnvironmentBytes {
		c.report("environment-size", pointer, "at most "+strconv.Itoa(MaxEnvironmentBytes)+" bytes",
			"names and values have %d bytes", size)
	}
}

func isReservedVariable(name string) bool {
	return slices.ContainsFunc([]string{"AWS_", "LAMBDA_", "PATCHBAY_"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

func (c *checker) checkNames(id string, names []string, pointer string, form pattern, allowed string) {
	for i, name := range names {
		if !form.match(name) {
			c.report(id, item(pointer, i), allowed, "%q is no such name", name)
		}
	}
	c.checkDistinct(names, pointer)
}

// checkArgumentsPayload refuses what a function that sees nothing but its arguments cannot do.
func (c *checker) checkArgumentsPayload(k *Contract) {
	if k.Function.Payload != PayloadArguments {
		return
	}
	const allowed = `"payload": "envelope", or the contract without this`
	if k.DryRun != DryRunNone {
		c.report("arguments-payload", "/contract/dryRun", allowed,
			"a function that gets its arguments alone does not know a dry run")
	}
	if k.Execution.Streaming {
		c.report("arguments-payload", "/contract/execution/streaming", allowed,
			"a function that gets its arguments alone reports no progress")
	}
	if len(k.FailureModes) > 0 {
		c.report("arguments-failures", "/contract/failureModes", allowed,
			"a function that gets its arguments alone cannot name a failure mode")
	}
	if !c.has("outputSchema") {
		c.report("output-schema-missing", "/outputSchema", "a JSON Schema of what the function returns",
			"all that the function returns becomes structured content, and nothing says what that is")
	}
}
