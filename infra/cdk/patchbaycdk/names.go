package patchbaycdk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxFunctionName is Lambda's bound.
const maxFunctionName = 64

// Names of what a deployment consists of. They follow from the settings alone, so that commands, policies and other
// stacks know them without asking AWS.
func registryTable(prefix string) string  { return prefix + "-registry" }
func ledgerTable(prefix string) string    { return prefix + "-ledger" }
func stateTable(prefix string) string     { return prefix + "-state" }
func dispatcherName(prefix string) string { return prefix + "-dispatcher" }
func registrarName(prefix string) string  { return prefix + "-registrar" }
func authorizerName(prefix string) string { return prefix + "-authorizer" }
func serviceToken(prefix string) string   { return "/" + prefix + "/registrar" }
func logGroupName(function string) string { return "/aws/lambda/" + function }
func toolPrefix(prefix string) string     { return prefix + "-tool-" }
func toolVersions(prefix string) string   { return toolPrefix(prefix) + "*:*" }
func existingLocal(prefix, n string) string {
	return prefix + "-existing-" + strings.ReplaceAll(n, "_", "-")
}

// toolName is the name of a tool's function: readable as far as there is room, and unique by the digest of what sets it
// apart. owner is the stack that publishes it, empty for the server's own; bucket is the nested stack, so that a tool
// that moves to another has another name, and the old one can be there until the catalogue no longer names it.
func toolName(prefix, owner, folder string, bucket int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", owner, folder, bucket))
	digest := hex.EncodeToString(sum[:4])
	room := maxFunctionName - len(toolPrefix(prefix)) - len("-") - len(digest)
	slug := strings.ReplaceAll(folder, "_", "-")
	slug = strings.Trim(slug[:min(room, len(slug))], "-")
	return toolPrefix(prefix) + slug + "-" + digest
}

// toolsPerStack keeps a nested stack within CloudFormation's 500 resources and 200 outputs, also where whoever uses the
// constructs attaches as much again to each function.
const toolsPerStack = 50

// buckets divides folders among nested stacks. A folder's place follows from its name, so that another tool's coming or
// going does not move it; only when a stack is full, twice as many take what they hold.
func buckets(folders []string) [][]string {
	for n := 1; ; n *= 2 {
		divided := make([][]string, n)
		fits := true
		for _, folder := range folders {
			sum := sha256.Sum256([]byte(folder))
			at := int(uint(sum[0])|uint(sum[1])<<8|uint(sum[2])<<16) % n
			divided[at] = append(divided[at], folder)
			fits = fits && len(divided[at]) <= toolsPerStack
		}
		if fits {
			return divided
		}
	}
}
