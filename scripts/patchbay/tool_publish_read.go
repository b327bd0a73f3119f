package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"patchbay/dispatcher/registrar/order"
	"patchbay/scripts/localstack"
	"patchbay/shared/contract"
	"patchbay/shared/nearest"
)

// contractFiles are contracts that were given, each with its text.
type contractFiles struct {
	tools    []*contract.Tool
	texts    []string
	warnings contract.Problems
}

// readContracts reads the contracts of folders and files. The error has all that is wrong with them, as lint says it.
func readContracts(paths []string) (contractFiles, error) {
	var read contractFiles
	var problems contract.Problems
	var faults []error
	for _, path := range paths {
		file, err := contractFile(path)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		text, err := contract.ReadFile(file)
		if err != nil {
			faults = append(faults, fmt.Errorf("reading the contract: %w", err))
			continue
		}
		tool, found := contract.Parse(filepath.ToSlash(file), text)
		problems = append(problems, found.Errors()...)
		read.warnings = append(read.warnings, found.Warnings()...)
		if tool != nil {
			read.tools, read.texts = append(read.tools, tool), append(read.texts, string(text))
		}
	}
	return read, errors.Join(append(faults, problems.Err())...)
}

// contractFile is the contract at a path: the file itself, or tool.json in a folder.
func contractFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("looking for a contract: %w", err)
	}
	if !info.IsDir() {
		return filepath.Clean(path), nil
	}
	file := filepath.Join(path, "tool.json")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the folder %s has no tool.json", path)
	}
	return file, nil
}

// bind gives each tool its function, from the flags or by what its contract names.
func (p *toolPublish) bind(contracts contractFiles) ([]order.Tool, error) {
	named, err := p.functionsByName(contracts)
	if err != nil {
		return nil, usageError{err}
	}
	var tools []order.Tool
	var faults []error
	for i, tool := range contracts.tools {
		function := named[tool.Name]
		if function == "" {
			faults = append(faults, p.checkNamed(tool))
		}
		tools = append(tools, order.Tool{Contract: contracts.texts[i], File: tool.File, Function: function})
	}
	return tools, errors.Join(faults...)
}

// functionsByName reads the flags: NAME=ARN each, or one ARN for one tool.
func (p *toolPublish) functionsByName(contracts contractFiles) (map[string]string, error) {
	var names []string
	for _, tool := range contracts.tools {
		names = append(names, tool.Name)
	}
	functions := map[string]string{}
	for _, flag := range p.functions {
		name, function, found := strings.Cut(flag, "=")
		if !found && len(names) == 1 {
			name, function = names[0], flag
		}
		if function == "" {
			return nil, fmt.Errorf("--function %s; allowed with %d tools: NAME=ARN for each", flag, len(names))
		}
		if _, twice := functions[name]; twice {
			return nil, fmt.Errorf("--function is there twice for %s; a tool has one function", name)
		}
		functions[name] = p.resolve(function)
	}
	for name := range functions {
		if err := among(name, names); err != nil {
			return nil, err
		}
	}
	return functions, nil
}

// resolve is the ARN of a function that is named by its place on the local stack; any other is as it was given.
func (p *toolPublish) resolve(function string) string {
	given := contract.Function{ARN: function}
	if _, local := given.Local(); local && p.at.options.Deployment == "" {
		return localstack.LocalFunction(given)
	}
	return function
}

// among refuses the name of a tool that was not given.
func among(name string, names []string) error {
	for _, known := range names {
		if name == known {
			return nil
		}
	}
	if near := nearest.Name(name, names); near != "" {
		return fmt.Errorf("--function names the tool %s, which is not among those that are given; did you mean %s?", name,
			near)
	}
	return fmt.Errorf("--function names the tool %s, which is not among those that are given: %s", name,
		strings.Join(names, ", "))
}

// checkNamed refuses a contract without a function that is there where it is to be published.
func (p *toolPublish) checkNamed(tool *contract.Tool) error {
	function := tool.Contract.Function
	if function.ARN == "" {
		return fmt.Errorf("%s: the contract names no function that exists; put its ARN with a version or an alias under "+
			"contract.function.arn, or give it by --function. Code that lies beside a contract is deployed with the server, "+
			"by `patchbay synth`", tool.File)
	}
	if _, local := function.Local(); local && p.at.options.Deployment != "" {
		return fmt.Errorf("%s: %s is in the local stack alone; name the function on AWS by --function %s=ARN", tool.File,
			function.ARN, tool.Name)
	}
	return nil
}

// filesOf are the files of tools by their contracts' names.
func filesOf(tools []order.Tool) map[string]string {
	files := map[string]string{}
	for _, tool := range tools {
		if read, _ := contract.Parse(tool.File, []byte(tool.Contract)); read != nil {
			files[read.Name] = tool.File
		}
	}
	return files
}
