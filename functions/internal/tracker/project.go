package tracker

import (
	"context"
	"strings"

	"patchbay/shared/tool"
)

// Project is a project of the tracker.
type Project struct {
	// Key is the short name that people use: WEB.
	Key  string `json:"key"`
	Name string `json:"name"`
	ID   string `json:"id"`
}

func (p Project) identity() string { return p.ID }

// Project finds a project by its key, letters' case aside. A key that does not exist fails with CodeUnknownProject and
// a list of those that do.
func (c *Client) Project(ctx context.Context, key string) (Project, error) {
	// This is the first request of every call. A connection from before may have died while Lambda had the function
	// frozen, and a change that is sent over it would have an unknown outcome.
	c.http.CloseIdleConnections()
	key = strings.TrimSpace(key)
	var known []Project
	for page, err := range pages[Project](ctx, c, []string{"projects"}, nil, 1) {
		if err != nil {
			return Project{}, orUnavailable(err)
		}
		for _, project := range page.Data {
			if strings.EqualFold(project.Key, key) {
				return project, nil
			}
			known = append(known, project)
		}
	}
	return Project{}, unknownProject(key, known)
}

func unknownProject(key string, known []Project) error {
	var near, all []string
	for _, project := range known {
		all = append(all, project.Key+" ("+project.Name+")")
		if alike(key, project.Key, project.Name) {
			near = append(near, project.Key)
		}
	}
	return tool.Fail(CodeUnknownProject, "No project has the key %q.%s The projects are: %s.", key, didYouMean(near),
		enumerate(all))
}
