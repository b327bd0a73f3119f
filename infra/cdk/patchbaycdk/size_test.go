package patchbaycdk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"patchbay/infra/cdk/assembly"
)

// crowd is a server of n tools that share one program.
func crowd(n int) *synthesized { return synthServer(crowdSources(n), parseStage(``), false) }

func crowdSources(n int) sources {
	s := newSources()
	for i := range n {
		s.tool(fmt.Sprintf("answers_question_number_%d", i), `{"function": {"state": ["notes"], "secrets": ["token"]}}`)
	}
	return s
}

var ten, threeHundred = sync.OnceValue(func() *synthesized { return crowd(10) }),
	sync.OnceValue(func() *synthesized { return crowd(300) })

// Limits of CloudFormation. Source: CloudFormation user guide, "Understand CloudFormation quotas".
const (
	maxResources          = 500
	maxOperationResources = 2500
	maxOutputs            = 200
	maxTemplateBytes      = 1 << 20
)

func TestThreeHundredToolsFitIntoOneDeployment(t *testing.T) {
	t.Parallel()
	s := threeHundred()
	if n := len(s.Resources("AWS::Lambda::Function")); n != 302 {
		t.Fatalf("%d functions; want 300 tools, the dispatcher and the registrar", n)
	}
	if n := len(s.Resources()); n > maxOperationResources {
		t.Errorf("%d resources in one operation; allowed: %d", n, maxOperationResources)
	} else {
		t.Logf("%d resources in one operation", n)
	}
	for _, stack := range append(nestedStacks(s), s.Stack) {
		outputs, _ := stack.Template["Outputs"].(map[string]any)
		// As it is written: CloudFormation counts what it is given.
		data, err := json.MarshalIndent(stack.Template, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d resources, %d outputs, %d bytes", stack.Name, len(stack.Own()), len(outputs), len(data))
		if len(stack.Own()) > maxResources/2 {
			t.Errorf("%s has %d resources; of %d half is for those who add to them", stack.Name, len(stack.Own()), maxResources)
		}
		if len(outputs) > maxOutputs {
			t.Errorf("%s has %d outputs; allowed: %d", stack.Name, len(outputs), maxOutputs)
		}
		if len(data) > maxTemplateBytes {
			t.Errorf("%s has %d bytes; allowed: %d", stack.Name, len(data), maxTemplateBytes)
		}
	}
}

func nestedStacks(s *synthesized) []*assembly.Stack {
	var stacks []*assembly.Stack
	for _, nested := range s.Nested() {
		stacks = append(stacks, nested)
	}
	return stacks
}

// The policies of the dispatcher and the registrar name tools by a pattern.
func TestPoliciesDoNotGrow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tools-prod-dispatcher", "tools-prod-registrar"} {
		few, many := strings.Join(ten().rights(t, name), "\n"), strings.Join(threeHundred().rights(t, name), "\n")
		if few != many {
			t.Errorf("the rights of %s with 10 and with 300 tools:\n%s\n\n%s", name, few, many)
		}
	}
}

// maxPolicyBytes is the size of all inline policies of a role, without white space. Source: IAM quotas.
const maxPolicyBytes = 10_240

func TestPoliciesFit(t *testing.T) {
	t.Parallel()
	for _, s := range []*synthesized{teamServer(), threeHundred(), fullest(), fullestOfShort()} {
		for _, role := range s.Resources("AWS::IAM::Role") {
			size := 0
			policies, _ := properties(t, role)["Policies"].([]any)
			for _, policy := range policies {
				data, err := json.Marshal(policy.(map[string]any)["PolicyDocument"])
				if err != nil {
					t.Fatal(err)
				}
				size += len(data)
			}
			if size > maxPolicyBytes {
				t.Errorf("%s: the role's policies have %d characters; allowed: %d", role.ID, size, maxPolicyBytes)
			}
		}
	}
}

// maxManagedPolicyBytes is the size of a managed policy, without white space. Source: IAM quotas.
const maxManagedPolicyBytes = 6_144

func TestManagedPoliciesFit(t *testing.T) {
	t.Parallel()
	for _, s := range []*synthesized{teamServer(), threeHundred(), fullest(), fullestOfShort()} {
		for _, policy := range s.Resources("AWS::IAM::ManagedPolicy") {
			data, err := json.Marshal(properties(t, policy)["PolicyDocument"])
			if err != nil {
				t.Fatal(err)
			}
			// The longest names of server and stage, of a region and of a partition, in each ARN of the deployment's.
			names := strings.Count(string(data), "tools-prod")
			longer := names * (len("a-server-of-18-cha-twelveletter") + len("arn:aws-us-gov:x:ap-southeast-1") -
				len("tools-prod") - len("arn:aws:x:"+region))
			if size := len(data) + longer; size > maxManagedPolicyBytes {
				t.Errorf("%s: the policy has %d characters; allowed: %d", policy.ID, size, maxManagedPolicyBytes)
			}
		}
	}
}

// fullest has as many existing functions as are allowed, with the longest names that there are.
var fullest = sync.OnceValue(func() *synthesized {
	s := newSources()
	fill(s, func(i int) string {
		return fmt.Sprintf("%02d", i) + strings.Repeat("f", 62) + ":" + strings.Repeat("a", 128)
	})
	return synthServer(s.tool("own", `{}`), parseStage(``), false)
})

// fullestOfShort has the most functions that are allowed, with the shortest names.
var fullestOfShort = sync.OnceValue(func() *synthesized {
	s := newSources()
	fill(s, func(i int) string { return string(rune('A'+i)) + ":1" })
	return synthServer(s.tool("own", `{}`), parseStage(``), false)
})

// fill adds tools that are existing functions for as long as their number is allowed.
func fill(s sources, name func(int) string) {
	for i := 0; ; i++ {
		tool := fmt.Sprintf("t%d", i)
		s.tool(tool, `{"function": {"arn": "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:`+name(i)+`"}}`)
		if _, err := s.load(parseStage(``), false); err != nil {
			delete(s, "functions/"+tool+"/tool.json")
			return
		}
	}
}

// A tool's place and name follow from its folder: another one that comes or goes does not touch it.
func TestNamesStay(t *testing.T) {
	t.Parallel()
	folders := make([]string, 300)
	for i := range folders {
		folders[i] = fmt.Sprintf("folder_%d", i)
	}
	place := func(folders []string) map[string]int {
		at := map[string]int{}
		for i, bucket := range buckets(folders) {
			if len(bucket) > toolsPerStack {
				t.Errorf("%d tools in one stack", len(bucket))
			}
			for _, folder := range bucket {
				at[folder] = i
			}
		}
		return at
	}
	all := place(folders)
	fewer := place(folders[1:])
	for folder, at := range fewer {
		if all[folder] != at {
			t.Errorf("%s is in %d, and in %d beside one more", folder, at, all[folder])
		}
	}
	if n := len(buckets(folders[:30])); n != 1 {
		t.Errorf("30 tools are in %d stacks", n)
	}
	seen := map[string]bool{}
	for folder, at := range all {
		name := toolName("a-server-of-18-cha-twelveletter", "", folder, at)
		if seen[name] || len(name) > maxFunctionName {
			t.Errorf("the name %s is not new, or too long", name)
		}
		seen[name] = true
	}
	long := strings.Repeat("long_", 20)
	if a, b := toolName("p-s", "", long+"a", 0), toolName("p-s", "", long+"b", 0); a == b || len(a) > maxFunctionName {
		t.Errorf("long names: %s, %s", a, b)
	}
	moved := slices.Compact([]string{
		toolName("p-s", "", "x", 0), toolName("p-s", "", "x", 1), toolName("p-s", "o", "x", 1),
	})
	if len(moved) != 3 {
		t.Errorf("a tool in another stack has the same name: %v", moved)
	}
}

// Nothing of the machine is in a template.
func TestTemplatesNameNoFolder(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(teamServer().dir, "*.template.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("templates %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), os.TempDir()) {
			t.Errorf("%s names a folder of this machine", file)
		}
	}
}
