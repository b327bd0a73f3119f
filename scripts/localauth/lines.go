package localauth

import "bytes"

// lines hands on what is written to it a line at a time. It is written to by one goroutine.
type lines struct {
	each func([]byte)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	if l.each == nil {
		return len(p), nil
	}
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.each(bytes.Clone(line))
		l.rest = rest
	}
}
