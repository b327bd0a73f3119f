package localstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallog"
)

// AccessLogGroup is the name under which the gateway's lines are kept; those of functions are under LogGroup.
const AccessLogGroup = "/aws/apigateway/local"

// LogGroup is the name under which a function's lines are kept.
func LogGroup(function string) string { return "/aws/lambda/" + function }

// LogDir is the folder of the logs in a data folder.
func LogDir(data string) string { return filepath.Join(data, "logs") }

// logs keeps what the gateway and the functions log.
type logs struct {
	store *locallog.Store
	// complain tells once that lines are lost, since a full disk would do so for every line.
	complain func(error)
}

func (s *Stack) openLogs() error {
	store, err := locallog.Open(LogDir(s.options.Data))
	if err != nil {
		return err
	}
	var once sync.Once
	s.logs = &logs{store, func(err error) {
		once.Do(func() { fmt.Fprintf(s.options.Progress, "log lines are lost: %v\n", err) })
	}}
	return nil
}

func (l *logs) write(group, stream string, message []byte) {
	// Requests that are cut off at the end are answered after the log is closed.
	if err := l.store.Write(group, stream, message); err != nil && !errors.Is(err, os.ErrClosed) {
		l.complain(err)
	}
}

// line keeps a line of a function, and hands it on.
func (s *Stack) line(function, instance string, line []byte) {
	s.logs.write(LogGroup(function), instance, line)
	s.options.Log(function, line)
}

// begin keeps what Lambda says when it hands an invocation to an instance. Whatever follows in that instance's log, up
// to the next such line, is of this invocation, also what a crash leaves behind that knows no request id.
func (s *Stack) begin(function, version, instance, requestID string) {
	s.logs.write(LogGroup(function), instance, fmt.Appendf(nil, "START RequestId: %s Version: %s", requestID, version))
}

// access keeps a record of the gateway's access log.
func (s *Stack) access(record localgateway.Access) {
	line, err := json.Marshal(record)
	if err != nil {
		panic("encoding a record of the access log: " + err.Error())
	}
	s.logs.write(AccessLogGroup, "gateway", line)
}

func (l *logs) close() {
	if l != nil {
		_ = l.store.Close()
	}
}
