package localstack

import (
	"context"
	"errors"

	"patchbay/scripts/nodemodules"
)

// installModules makes sure of the folder with the DynamoDB engine and the Node that runs it. A module that only
// requires this one has no lock file to install them by; it uses those that are found where the command was started.
func (s *Stack) installModules(ctx context.Context) error {
	modules, err := nodemodules.Install(ctx, nodemodules.Options{Root: s.module, Progress: s.options.Progress})
	if errors.Is(err, nodemodules.ErrNotInstalled) {
		if found, none := nodemodules.Find("."); none == nil {
			modules, err = found, nil
		}
	}
	s.modules = modules
	return err
}
