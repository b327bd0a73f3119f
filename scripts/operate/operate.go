// Package operate is where operators' commands act: on the local stack that is running, or on a deployment on AWS.
//
// It opens the same parts for both, so that a command is written once and does on a laptop what it does at night on
// AWS: the tables, the logs, the functions, and the audit log. Every act has two audit records, one before it and one
// after it, and an act whose first record cannot be written is not begun.
package operate

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/shared/seal"
)

// Options say where to act. The zero value is the local stack on the data folder .patchbay.
type Options struct {
	// Deployment is the name of a deployment on AWS, <server>-<stage>; empty means the local stack.
	Deployment string
	// Region and Profile replace what the environment and AWS's own configuration files say.
	Region, Profile string
	// Data is the data folder of the local stack.
	Data string
}

// Tables are the names of a deployment's tables.
type Tables struct{ Registry, Ledger, State string }

// Target is what commands act on.
type Target struct {
	// Name is the deployment's, or "local".
	Name   string
	DB     *dynamodb.Client
	Tables Tables
	// Keys is where the keys are kept that seal what calls remember between their rounds; nil for the local stack, which
	// keeps them in a file of its data folder.
	Keys *seal.Stored

	logs      logSource
	functions functions
	registrar registrar
	auditor   auditor
	// gatewayLog, authorizerLog and dispatcherLog are log groups. An anonymous server has no authorizer and no log of
	// one.
	gatewayLog, authorizerLog, dispatcherLog string
	// explain says an error in terms of what was looked for.
	explain func(error) error
	now     func() time.Time
}

// ErrNoDeployment means that there is nothing of a deployment's name where it was looked for.
var ErrNoDeployment = errors.New("no such deployment")

// deploymentName is <server>-<stage>, as the names of what is deployed begin.
var deploymentName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,17}-[a-z][a-z0-9]{0,11}$`)

// Open returns what the options name. On AWS nothing is asked for but who the operator is; that there is no such
// deployment is told by the first act.
func Open(ctx context.Context, options Options) (*Target, error) {
	if options.Deployment == "" {
		return openLocal(options)
	}
	if !deploymentName.MatchString(options.Deployment) {
		return nil, fmt.Errorf("deployment %q; allowed: <server>-<stage>, as in shop-prod: the part of the stack's outputs "+
			"and of every table's name before the last hyphen", options.Deployment)
	}
	return openAWS(ctx, options)
}

// Operator is who acts, as the audit records name them.
func (t *Target) Operator() string { return t.auditor.operator() }
