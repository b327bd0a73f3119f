package localstack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

// tellStrays says which tools of other sources have no function here: what was published beside the stack outlives it,
// and the folder of existing functions may be another one by now.
func (s *Stack) tellStrays(ctx context.Context) error {
	publisher := s.Publisher()
	history, err := publisher.History(ctx)
	if err != nil {
		return fmt.Errorf("reading what other sources have published: %w", err)
	}
	for _, source := range history.Sources {
		if source.Source == Source || source.Live == nil {
			continue
		}
		tools, err := publisher.Contents(ctx, source.Source, source.Live.ID)
		if err != nil {
			return fmt.Errorf("reading what other sources have published: %w", err)
		}
		for _, tool := range tools {
			s.tellStray(source.Source, tool)
		}
	}
	return nil
}

func (s *Stack) tellStray(source string, tool registry.Publication) {
	name := existingName(contract.Function{ARN: tool.Function})
	if s.deployment.serving[name] != nil {
		return
	}
	fmt.Fprintf(s.options.Progress, "the tool %s of source %s has no function here, so its calls fail: %s is in no "+
		"folder of existing functions (--existing); `patchbay catalogue withdraw %s` takes the source's tools away\n",
		tool.Tool.Name, source, name, source)
}

// explainConflict says what helps where a tool of the folder is also one that somebody has published: without a stack
// that runs, nothing can be withdrawn.
func (s *Stack) explainConflict(err error) error {
	if !errors.As(err, new(*registry.ConflictError)) {
		return err
	}
	return fmt.Errorf("%w; to withdraw what was published, start the stack without the tool, or remove %s, which has all "+
		"that was published and recorded", err, filepath.Join(s.options.Data, "dynamodb"))
}
