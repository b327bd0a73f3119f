// Package locallog keeps the log lines of a local stack in files of its data folder, under the names that log groups
// have on AWS, so that an operator's commands find a call there as they do in CloudWatch Logs.
//
// A folder holds two files of one JSON object a line. The current one becomes the previous one when it is full, so a
// stack that runs for weeks keeps its last lines in a bounded space.
package locallog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	currentFile  = "current.jsonl"
	previousFile = "previous.jsonl"
	// maxFile is the size from which on a file is full.
	maxFile = 16 << 20
	// maxMessage is where a message is cut. Source: the event size of CloudWatch Logs, 256 KB.
	maxMessage = 256 << 10
)

// Line is one line of a log.
type Line struct {
	Time time.Time `json:"time"`
	// Group says who wrote it, as in /aws/lambda/dispatcher, and Stream which instance.
	Group   string `json:"group"`
	Stream  string `json:"stream"`
	Message string `json:"message"`
}

// Store writes lines. It is safe for concurrent use, by one process: the stack that has the data folder.
type Store struct {
	dir string

	mu   sync.Mutex
	file *os.File
	size int64
	full int64
}

// Open opens the store in a folder, which it makes.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of logs: %w", err)
	}
	s := &Store{dir: dir, full: maxFile}
	return s, s.open()
}

func (s *Store) open() error {
	// What functions write may hold what others on the machine should not read.
	file, err := os.OpenFile(filepath.Join(s.dir, currentFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("opening the log: %w", err)
	}
	s.file, s.size = file, info.Size()
	return nil
}

// Write appends a line, now.
func (s *Store) Write(group, stream string, message []byte) error {
	message = message[:min(len(message), maxMessage)]
	line, err := json.Marshal(Line{time.Now().UTC(), group, stream, string(message)})
	if err != nil {
		return fmt.Errorf("encoding a line of the log: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size >= s.full {
		if err := s.rotate(); err != nil {
			return err
		}
	}
	n, err := s.file.Write(append(line, '\n'))
	s.size += int64(n)
	if err != nil {
		return fmt.Errorf("writing the log: %w", err)
	}
	return nil
}

func (s *Store) rotate() error {
	if err := s.file.Close(); err != nil {
		return fmt.Errorf("closing a full log: %w", err)
	}
	err := os.Rename(filepath.Join(s.dir, currentFile), filepath.Join(s.dir, previousFile))
	if err != nil {
		return fmt.Errorf("putting a full log aside: %w", err)
	}
	return s.open()
}

// Close ends the writing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Close()
}

// Read calls visit with every line of a folder, in the order in which they were written, while a stack may be writing.
// A folder without a log has no lines. A line that is half written is left out.
func Read(dir string, visit func(Line)) error {
	// The current file first: when it is put aside meanwhile it is read twice, not never.
	current, err := open(filepath.Join(dir, currentFile))
	if err != nil {
		return err
	}
	defer current.Close()
	previous, err := open(filepath.Join(dir, previousFile))
	if err != nil {
		return err
	}
	defer previous.Close()
	if !current.same(previous) {
		if err := previous.visit(visit); err != nil {
			return err
		}
	}
	return current.visit(visit)
}

// reader is an open file; nil where there is none.
type reader struct{ *os.File }

func open(name string) (reader, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return reader{}, nil
	}
	if err != nil {
		return reader{}, fmt.Errorf("opening a log: %w", err)
	}
	return reader{file}, nil
}

// Close closes the file, if there is one.
func (r reader) Close() {
	if r.File != nil {
		_ = r.File.Close()
	}
}

func (r reader) same(other reader) bool {
	if r.File == nil || other.File == nil {
		return false
	}
	one, err := r.Stat()
	if err != nil {
		return false
	}
	two, err := other.Stat()
	return err == nil && os.SameFile(one, two)
}

func (r reader) visit(visit func(Line)) error {
	if r.File == nil {
		return nil
	}
	buffered := bufio.NewReaderSize(r.File, 64<<10)
	for {
		text, err := buffered.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a log: %w", err)
		}
		var line Line
		if json.Unmarshal(bytes.TrimSpace(text), &line) == nil {
			visit(line)
		}
	}
}
