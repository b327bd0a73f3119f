package contract

import "slices"

// LoadFolder reads the tool in one folder of dir, as LoadDir does, but without holding it against other tools. The tool
// is nil when it has errors; it is nil without any problem when the folder has no tool.json, or is gone.
func LoadFolder(dir, folder string) (*Tool, Problems) {
	l := newLoader(dir)
	d := l.tool(folder)
	if d == nil {
		return nil, l.problems.sorted()
	}
	problems := slices.DeleteFunc(l.problems, func(p Problem) bool { return isCovered(p, d.suppress) }).sorted()
	if problems.Err() != nil {
		return nil, problems
	}
	return d.tool, problems
}
