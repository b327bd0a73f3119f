package localstack

import (
	"errors"
	"fmt"
	"net/url"

	"patchbay/scripts/build"
	"patchbay/shared/contract"
	"patchbay/shared/mcp"
)

// check refuses options that mean nothing. What it lets through is read once more by the dispatcher, whose error would
// come with the first request.
func (o Options) check() error {
	var faults []error
	switch o.CacheScope {
	case "", mcp.CachePublic, mcp.CachePrivate:
	default:
		faults = append(faults,
			fmt.Errorf("cache scope %q: allowed: %s, %s", o.CacheScope, mcp.CachePublic, mcp.CachePrivate))
	}
	if o.CacheTTL != nil && *o.CacheTTL < 0 {
		faults = append(faults, fmt.Errorf("cache TTL %s: allowed: 0 or more", *o.CacheTTL))
	}
	for _, origin := range o.Origins {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			faults = append(faults, fmt.Errorf("origin %q: allowed: a scheme, a host and a port as a browser sends them, "+
				"like https://app.example.com", origin))
		}
	}
	return errors.Join(append(faults, o.checkAuth())...)
}

// checkTools refuses what could not be built, run or published, before anything is built.
func (s *Stack) checkTools(tools []*contract.Tool) error {
	limits := contract.ServerLimits{MaxCallSeconds: maxCallSeconds(s.answerWithin(tools))}
	problems := contract.CheckTools(tools, limits)
	var faults []error
	for _, tool := range tools {
		if err := s.checkCode(tool); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", tool.File, err))
		}
	}
	return errors.Join(append([]error{problems.Err()}, faults...)...)
}

// checkCode finds the code of a tool's function, and what it says that it depends on.
func (s *Stack) checkCode(tool *contract.Tool) error {
	function := tool.Contract.Function
	if function.ARN != "" {
		return s.checkExisting(function, tool.Contract.Execution.TimeoutSeconds)
	}
	return build.CheckDependencies(s.sourceDir(tool), function)
}
