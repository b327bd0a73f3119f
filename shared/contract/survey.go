package contract

import (
	"maps"
	"slices"
)

// Survey is a folder of tools as it is, right or wrong, for those who look at contracts and do not use them.
type Survey struct {
	// Server is the zero value when server.json could not be read.
	Server Server
	// Tools are in the order of their names. Those with errors are among them, as far as they could be read: fields with
	// faults have their defaults, and schemas are whatever stands there.
	Tools []*Tool
	// Problems are all that were found, those that are suppressed included.
	Problems  Problems
	documents map[string]*document // by the files' names in problems
}

// Look reads dir/server.json and dir/*/tool.json like LoadDir, but keeps what has faults, and suppresses nothing.
func Look(dir string, limits ServerLimits) *Survey {
	l := newLoader(dir)
	s := &Survey{documents: l.documents}
	if d := l.server(); d != nil && d.server != nil {
		s.Server = *d.server
	}
	s.Tools = l.tools()
	s.Problems = append(l.problems, s.placed(CheckTools(s.Tools, limits))...).sorted()
	return s
}

// placed fills in where problems are that know only their file and pointer.
func (s *Survey) placed(problems Problems) Problems {
	for i, p := range problems {
		if p.Line == 0 {
			region := s.Region(p.File, p.Pointer)
			problems[i].Line, problems[i].Column = region.Line, region.Column
		}
	}
	return problems
}

// Region returns where a JSON Pointer leads to in a file that is named as in problems.
func (s *Survey) Region(file, pointer string) Region {
	d := s.documents[file]
	if d == nil {
		return Region{}
	}
	return d.region(pointer)
}

// Suppressions returns what a file that is named as in problems says of its own warnings.
func (s *Survey) Suppressions(file string) []Suppression {
	if d := s.documents[file]; d != nil {
		return d.suppress
	}
	return nil
}

// Files returns the names of the files that could be read, as they are in problems, sorted.
func (s *Survey) Files() []string { return slices.Sorted(maps.Keys(s.documents)) }

// unsuppressed returns the problems that are not suppressed in their files.
func (s *Survey) unsuppressed() Problems {
	return slices.DeleteFunc(slices.Clone(s.Problems), func(p Problem) bool {
		return isCovered(p, s.Suppressions(p.File))
	})
}
