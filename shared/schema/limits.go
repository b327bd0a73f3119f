package schema

import (
	"cmp"
	"fmt"
)

// Limits bound what Compile accepts. The zero value of a field takes its default.
type Limits struct {
	// MaxBytes is the size of the schema's text in bytes, 64 KiB by default.
	MaxBytes int
	// MaxDepth is how many schemas may nest inside one another, the root being the first; 32 by default.
	MaxDepth int
	// MaxSubschemas is the number of schemas in the document, the root included; 1,000 by default.
	MaxSubschemas int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxBytes:      cmp.Or(l.MaxBytes, 64<<10),
		MaxDepth:      cmp.Or(l.MaxDepth, 32),
		MaxSubschemas: cmp.Or(l.MaxSubschemas, 1000),
	}
}

func (l Limits) checkSize(n int) *Problem {
	if n <= l.MaxBytes {
		return nil
	}
	return &Problem{
		Kind:    KindBounds,
		Message: fmt.Sprintf("the schema has %d bytes", n),
		Allowed: fmt.Sprintf("at most %d bytes", l.MaxBytes),
	}
}
