// Package cloudformation deploys a cloud assembly into moto, an emulator of AWS, in the order in which CloudFormation
// would: what is new or changed first, then custom resources, when all that they name is there, and what has gone last.
//
// Moto's own CloudFormation makes, updates and deletes the resources; this package divides a deployment into the steps
// that moto cannot order itself, and does what moto cannot do at all, each with its reason: see withheld. Custom
// resources are sent their events as CloudFormation sends them, and answer to an address of this package's.
package cloudformation

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"patchbay/infra/cdk/assembly"
)

// answerWithin bounds the waiting for a custom resource's answer, as its ServiceTimeout does.
const answerWithin = 2 * time.Minute

// Options say where an engine deploys to.
type Options struct {
	// Config is the configuration of clients of moto.
	Config aws.Config
	// Invoke runs the function that is the service token of a custom resource with an event. As CloudFormation invokes it
	// asynchronously, the result says only whether the event was taken.
	Invoke func(ctx context.Context, function string, event []byte) error
	// Interrupt, if it is set, is asked after the custom resources of a deployment have answered. An error stands for a
	// resource after them that could not be made.
	Interrupt func() error
}

// Engine deploys stacks. Close must be called.
type Engine struct {
	options Options
	stacks  *cloudformation.Client
	lambda  *lambda.Client
	s3      *s3.Client
	secrets *secretsmanager.Client
	answers *httptest.Server

	deployed map[string]*deployed
	mu       sync.Mutex
	waiting  map[string]chan response // by request id
}

// deployed is what was deployed of a stack last.
type deployed struct {
	stack *assembly.Stack
	// parts are what moto has of the stack itself and of each that is nested in it.
	parts map[string]template
	// custom are the custom resources that were made.
	custom map[string]*customResource
}

// New returns an engine that has deployed nothing.
func New(options Options) *Engine {
	e := &Engine{
		options: options,
		// Tried again, a creation that failed would be told to exist already.
		stacks:  cloudformation.NewFromConfig(options.Config, func(o *cloudformation.Options) { o.RetryMaxAttempts = 1 }),
		lambda:  lambda.NewFromConfig(options.Config),
		s3:      s3.NewFromConfig(options.Config, func(o *s3.Options) { o.UsePathStyle = true }),
		secrets: secretsmanager.NewFromConfig(options.Config),

		deployed: map[string]*deployed{},
		waiting:  map[string]chan response{},
	}
	e.answers = httptest.NewTLSServer(e)
	return e
}

// Certificate is what whoever answers to an engine must trust, as PEM: every engine has the same.
func Certificate() []byte {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// Close ends the address that custom resources answer to.
func (e *Engine) Close() { e.answers.Close() }

// SetInterrupt changes Options.Interrupt for what is deployed from now on.
func (e *Engine) SetInterrupt(interrupt func() error) { e.options.Interrupt = interrupt }

// Deploy creates or updates a stack. When something fails the stack is rolled back to what was deployed before, and the
// error says what it was that failed.
func (e *Engine) Deploy(ctx context.Context, stack *assembly.Stack) error {
	if err := e.upload(ctx, stack); err != nil {
		return err
	}
	old := e.deployed[stack.Name]
	if old == nil {
		old = &deployed{stack: &assembly.Stack{Name: stack.Name}}
	}
	fresh := &deployed{stack: stack, custom: map[string]*customResource{}}
	if err := e.advance(ctx, old, fresh); err != nil {
		if undone := e.rollBack(ctx, old, fresh); undone != nil {
			return fmt.Errorf("%w; and rolling back failed: %w", err, undone)
		}
		return fmt.Errorf("rolled back: %w", err)
	}
	e.deployed[stack.Name] = fresh
	return e.cleanUp(ctx, old, fresh)
}

// advance makes everything that is new: functions and all else, then their versions, then what names the versions.
func (e *Engine) advance(ctx context.Context, old, fresh *deployed) error {
	parts, err := prepare(fresh.stack)
	if err != nil {
		return err
	}
	if err := e.makeWithheld(ctx, fresh.stack); err != nil {
		return err
	}
	fresh.parts = map[string]template{}
	for name, part := range parts {
		fresh.parts[name] = old.parts[name].overlaid(part)
		if err := e.apply(ctx, name, old.has(name), fresh.parts[name]); err != nil {
			return err
		}
	}
	if err := e.finish(ctx, fresh.stack); err != nil {
		return err
	}
	if err := e.publishVersions(ctx, old.stack, fresh.stack); err != nil {
		return err
	}
	if err := e.sendCustom(ctx, old, fresh); err != nil {
		return err
	}
	if e.options.Interrupt != nil {
		return e.options.Interrupt()
	}
	return nil
}

func (d *deployed) has(part string) bool { return d.parts[part] != nil }

// cleanUp removes what the new template does not have any more: custom resources first, since they name the others.
func (e *Engine) cleanUp(ctx context.Context, old, fresh *deployed) error {
	for id, resource := range old.custom {
		if fresh.custom[id] != nil {
			continue
		}
		if _, err := e.send(ctx, fresh.stack, resource.event("Delete", nil)); err != nil {
			return fmt.Errorf("deleting %s: %w", id, err)
		}
	}
	parts, err := prepare(fresh.stack)
	if err != nil {
		return err
	}
	fresh.parts = parts
	for name := range old.parts {
		if parts[name] != nil {
			continue
		}
		if err := e.remove(ctx, name); err != nil {
			return err
		}
	}
	for name, part := range parts {
		if err := e.apply(ctx, name, true, part); err != nil {
			return err
		}
	}
	return nil
}

// rollBack restores what was deployed before: the resources, and for every custom resource whose turn had come the
// event that undoes it. Versions that only the failed deployment made go again.
func (e *Engine) rollBack(ctx context.Context, old, fresh *deployed) error {
	for name, part := range fresh.parts {
		if !old.has(name) {
			continue
		}
		// What is new goes last, as always; code and settings are the old ones from here on.
		if err := e.apply(ctx, name, true, part.overlaid(old.parts[name])); err != nil {
			return err
		}
	}
	if err := e.undoCustom(ctx, old, fresh); err != nil {
		return err
	}
	if err := e.dropVersions(ctx, old.stack, fresh); err != nil {
		return err
	}
	for name := range fresh.parts {
		if !old.has(name) {
			if err := e.remove(ctx, name); err != nil {
				return err
			}
			continue
		}
		if err := e.apply(ctx, name, true, old.parts[name]); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes a stack: custom resources, then all that is not to be retained.
func (e *Engine) Delete(ctx context.Context, name string) error {
	old := e.deployed[name]
	if old == nil {
		return fmt.Errorf("no stack %s is deployed", name)
	}
	for id, resource := range old.custom {
		if _, err := e.send(ctx, old.stack, resource.event("Delete", nil)); err != nil {
			return fmt.Errorf("deleting %s: %w", id, err)
		}
	}
	for part := range old.parts {
		if err := e.remove(ctx, part); err != nil {
			return err
		}
	}
	delete(e.deployed, name)
	return nil
}

// apply creates or updates one of moto's stacks.
func (e *Engine) apply(ctx context.Context, name string, exists bool, t template) error {
	body, err := t.encode()
	if err != nil {
		return fmt.Errorf("encoding the template of %s: %w", name, err)
	}
	if !exists {
		_, err = e.stacks.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body})
	} else {
		_, err = e.stacks.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: &body})
	}
	if err != nil {
		return fmt.Errorf("deploying %s: %w", name, err)
	}
	return nil
}

func (e *Engine) remove(ctx context.Context, name string) error {
	if _, err := e.stacks.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	return nil
}
