package localstack

import (
	"context"

	"patchbay/scripts/nodemodules"
)

// installModules makes sure of the folder with the DynamoDB engine and the Node that runs it.
func (s *Stack) installModules(ctx context.Context) (err error) {
	s.modules, err = nodemodules.InstallFor(ctx, nodemodules.Options{
		Root: s.module, Progress: s.options.Progress,
	})
	return err
}
