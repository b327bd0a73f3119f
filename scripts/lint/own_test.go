package lint

import (
	"path/filepath"
	"testing"
)

// The repository's own tools are what authors copy: nothing is found in them that is not suppressed with a reason.
func TestOwnToolsAreClean(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"functions", "tests/integration/functions", "tests/integration/small"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			report, err := Run(filepath.Join("..", "..", filepath.FromSlash(folder)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, finding := range report.Findings {
				if finding.Suppressed == "" {
					t.Error(finding)
				}
			}
			if report.Tools == 0 {
				t.Error("the folder has no tools")
			}
		})
	}
}
