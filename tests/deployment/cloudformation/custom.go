package cloudformation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"patchbay/infra/cdk/assembly"
)

// customResource is a custom resource that was made.
type customResource struct {
	id, kind   string
	physical   string
	properties map[string]any
}

// event is what CloudFormation sends to a custom resource's function.
// Source: CloudFormation user guide, crpg-ref-requests.
type event struct {
	RequestType           string
	ResponseURL           string
	StackId               string
	RequestId             string
	ResourceType          string
	LogicalResourceId     string
	PhysicalResourceId    string         `json:",omitempty"`
	ResourceProperties    map[string]any `json:",omitempty"`
	OldResourceProperties map[string]any `json:",omitempty"`
}

// response is what it answers. Source: crpg-ref-responses.
type response struct {
	Status, Reason                        string
	StackId, RequestId                    string
	LogicalResourceId, PhysicalResourceId string
}

func (c *customResource) event(request string, old map[string]any) event {
	return event{
		RequestType: request, ResourceType: c.kind, LogicalResourceId: c.id, PhysicalResourceId: c.physical,
		ResourceProperties: c.properties, OldResourceProperties: old,
	}
}

// sendCustom sends the events of a deployment: Create for what is new, Update where a property has changed.
func (e *Engine) sendCustom(ctx context.Context, old, fresh *deployed) error {
	for _, r := range fresh.stack.Resources() {
		if !strings.HasPrefix(r.Type, "Custom::") {
			continue
		}
		properties, err := customProperties(r)
		if err != nil {
			return fmt.Errorf("resolving the properties of %s: %w", r.ID, err)
		}
		before := old.custom[r.ID]
		now := &customResource{id: r.ID, kind: r.Type, properties: properties}
		fresh.custom[r.ID] = now
		sent := now.event("Create", nil)
		if before != nil {
			now.physical = before.physical
			if reflect.DeepEqual(before.properties, properties) {
				continue
			}
			sent = now.event("Update", before.properties)
		}
		answer, err := e.send(ctx, fresh.stack, sent)
		now.physical = answer.PhysicalResourceId
		if err != nil {
			return fmt.Errorf("the custom resource %s: %w", r.ID, err)
		}
	}
	return nil
}

// customProperties are a custom resource's properties as they arrive: resolved, and every number and boolean a text.
func customProperties(r assembly.Resource) (map[string]any, error) {
	resolved, err := r.Stack.Resolve(r.Properties)
	if err != nil {
		return nil, err
	}
	properties, _ := asTexts(resolved).(map[string]any)
	return properties, nil
}

func asTexts(value any) any {
	switch value := value.(type) {
	case map[string]any:
		object := map[string]any{}
		for name, one := range value {
			object[name] = asTexts(one)
		}
		return object
	case []any:
		list := make([]any, len(value))
		for i, one := range value {
			list[i] = asTexts(one)
		}
		return list
	}
	return fmt.Sprint(value)
}

// undoCustom sends what undoes the events of a failed deployment: Delete for what it made, Update with the old
// properties for what it changed, whether or not that succeeded.
func (e *Engine) undoCustom(ctx context.Context, old, fresh *deployed) error {
	var failures []error
	for _, id := range slices.Sorted(maps.Keys(fresh.custom)) {
		now, before := fresh.custom[id], old.custom[id]
		sent := now.event("Delete", nil)
		if before != nil {
			if reflect.DeepEqual(before.properties, now.properties) {
				continue
			}
			sent = before.event("Update", now.properties)
		}
		if _, err := e.send(ctx, fresh.stack, sent); err != nil {
			failures = append(failures, fmt.Errorf("undoing %s: %w", id, err))
		}
	}
	return errors.Join(failures...)
}

// send sends one event and waits for its answer.
func (e *Engine) send(ctx context.Context, stack *assembly.Stack, sent event) (response, error) {
	sent.StackId, sent.RequestId = stack.ID(), uuid.NewString()
	sent.ResponseURL = e.answers.URL + "/" + sent.RequestId
	answers := make(chan response, 1)
	e.mu.Lock()
	e.waiting[sent.RequestId] = answers
	e.mu.Unlock()
	data, err := json.Marshal(sent)
	if err != nil {
		return response{}, fmt.Errorf("encoding the event: %w", err)
	}
	token, _ := sent.ResourceProperties["ServiceToken"].(string)
	if err := e.options.Invoke(ctx, token, data); err != nil {
		return response{}, fmt.Errorf("invoking its function: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	select {
	case answer := <-answers:
		return answer, answer.check(sent)
	case <-ctx.Done():
		return response{}, fmt.Errorf("waiting for the answer to %s: %w", sent.RequestType, ctx.Err())
	}
}

func (r response) check(sent event) error {
	switch {
	case r.StackId != sent.StackId || r.RequestId != sent.RequestId || r.LogicalResourceId != sent.LogicalResourceId:
		return fmt.Errorf("the answer %+v is not one to %+v", r, sent)
	case r.Status != "SUCCESS" && r.Reason == "":
		return errors.New("it failed without a reason")
	case r.Status != "SUCCESS":
		return errors.New(r.Reason)
	case r.PhysicalResourceId == "":
		return errors.New("it has no physical id")
	case sent.PhysicalResourceId != "" && r.PhysicalResourceId != sent.PhysicalResourceId:
		return fmt.Errorf("it changed its physical id from %s to %s, which asks for the deletion of the old one",
			sent.PhysicalResourceId, r.PhysicalResourceId)
	}
	return nil
}

// maxAnswer is how long an answer may be. Source: crpg-ref-responses.
const maxAnswer = 4096

// ServeHTTP takes the answers of custom resources, which are PUT without a content type.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer+1))
	var answer response
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	if err != nil || r.Method != http.MethodPut || len(data) > maxAnswer || r.Header.Get("Content-Type") != "" {
		http.Error(w, "not an answer", http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	waiting := e.waiting[strings.TrimPrefix(r.URL.Path, "/")]
	delete(e.waiting, strings.TrimPrefix(r.URL.Path, "/"))
	e.mu.Unlock()
	if waiting == nil {
		http.Error(w, "nobody waits for it", http.StatusForbidden)
		return
	}
	waiting <- answer
}
