// Package consent says what the owner of a function in another account runs, so that a server may call it. Both sides
// must allow such a call, and a function's resource policy belongs to one version or alias.
package consent

import (
	"fmt"
	"strings"
)

// Server is a deployment that is to be let in.
type Server struct {
	// Deployment is its name, and Account and Region are where it is; what is not known yet may stand for itself in
	// capital letters.
	Deployment, Account, Region string
}

// Role is the ARN of the role that calls functions. It must exist before a policy names it: Lambda refuses others.
func (s Server) Role(partition string) string {
	return fmt.Sprintf("arn:%s:iam::%s:role/%s-dispatcher-%s", partition, s.Account, s.Deployment, s.Region)
}

// Command is what the owner of a function runs, which is named by its ARN with a version or an alias.
func (s Server) Command(function string) string {
	parts := strings.Split(function, ":")
	return fmt.Sprintf("aws lambda add-permission --region %s --function-name %s --qualifier %s --statement-id %s "+
		"--action lambda:InvokeFunction --principal %s",
		parts[3], parts[6], parts[7], s.Deployment, s.Role(parts[1]))
}
