package assembly

import (
	"maps"
	"slices"
)

const nestedStackType = "AWS::CloudFormation::Stack"

// Resource is one resource of a template.
type Resource struct {
	// Stack is the stack that has it, which may be a nested one.
	Stack *Stack
	// ID is its logical id in that stack.
	ID   string
	Type string
	// Properties are as they are written; Resolve of the stack says what they come to.
	Properties map[string]any
	// DeletionPolicy and UpdateReplacePolicy are empty where CloudFormation's default holds.
	DeletionPolicy, UpdateReplacePolicy string
}

// Own returns the stack's resources without those of nested stacks, in the order of their ids.
func (s *Stack) Own() []Resource {
	all, _ := s.Template["Resources"].(map[string]any)
	resources := make([]Resource, 0, len(all))
	for _, id := range slices.Sorted(maps.Keys(all)) {
		resources = append(resources, s.resource(id, all[id]))
	}
	return resources
}

func (s *Stack) resource(id string, written any) Resource {
	fields, _ := written.(map[string]any)
	r := Resource{Stack: s, ID: id}
	r.Type, _ = fields["Type"].(string)
	r.Properties, _ = fields["Properties"].(map[string]any)
	r.DeletionPolicy, _ = fields["DeletionPolicy"].(string)
	r.UpdateReplacePolicy, _ = fields["UpdateReplacePolicy"].(string)
	return r
}

// Resources returns the resources of the stack and of all that are nested in it; of the given types, if there are any.
func (s *Stack) Resources(types ...string) []Resource {
	var all []Resource
	for _, r := range s.Own() {
		if len(types) == 0 || slices.Contains(types, r.Type) {
			all = append(all, r)
		}
		if nested := s.nested[r.ID]; nested != nil {
			all = append(all, nested.Resources(types...)...)
		}
	}
	return all
}

// Nested returns the stacks nested in this one by their logical ids.
func (s *Stack) Nested() map[string]*Stack { return s.nested }

// find returns a resource of this stack itself.
func (s *Stack) find(id string) (Resource, bool) {
	all, _ := s.Template["Resources"].(map[string]any)
	written, ok := all[id]
	return s.resource(id, written), ok
}

// Text returns a property that comes to a text.
func (r Resource) Text(property string) (string, error) { return r.Stack.Text(r.Properties[property]) }

// Ref returns what a reference to the resource comes to.
func (r Resource) Ref() (string, error) { return r.Stack.Text(map[string]any{"Ref": r.ID}) }

// ARN returns the resource's ARN, for the types that this package knows.
func (r Resource) ARN() (string, error) {
	return r.Stack.Text(map[string]any{"Fn::GetAtt": []any{r.ID, "Arn"}})
}
