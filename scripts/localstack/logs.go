package localstack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"patchbay/scripts/callpath"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallambda"
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
	calls *callpath.Collector
	// complain tells once that lines are lost, since a full disk would do so for every line.
	complain func(error)
}

func (s *Stack) openLogs() error {
	store, err := locallog.Open(LogDir(s.options.Data))
	if err != nil {
		return err
	}
	var once sync.Once
	s.logs = &logs{store, callpath.New("dispatcher", "authorizer"), func(err error) {
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

// Calls are the last requests with their paths. It is there while the stack runs.
func (s *Stack) Calls() *callpath.Collector { return s.logs.calls }

// line keeps a line of a function, and hands it on.
func (s *Stack) line(function, instance string, line []byte) {
	s.logs.write(LogGroup(function), instance, line)
	s.tell(function, s.logs.calls.Line(function, instance, line), line)
}

// tell hands a line on to whoever started the stack.
func (s *Stack) tell(source, requestID string, line []byte) {
	s.options.Log(source, line)
	s.options.LogOf(source, requestID, line)
}

// invocation keeps what Lambda says when it hands an invocation to an instance. Whatever follows in that instance's
// log, up to the next such line, is of this invocation, also what a crash leaves behind that knows no request id.
func (s *Stack) invocation(event locallambda.Event) {
	if event.Step == locallambda.Begun {
		s.logs.write(LogGroup(event.Function), event.Instance,
			fmt.Appendf(nil, "START RequestId: %s Version: %s", event.RequestID, event.Version))
	}
	s.logs.calls.Invocation(event)
}

// gatewayLine hands on a line that the gateway logs beside its access log.
func (s *Stack) gatewayLine(line []byte) (int, error) {
	text := bytes.TrimSuffix(line, []byte("\n"))
	s.tell("gateway", s.logs.calls.Gateway(text), text)
	return len(line), nil
}

// writerFunc is a function as an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

// access keeps a record of the gateway's access log.
func (s *Stack) access(record localgateway.Access) {
	line, err := json.Marshal(record)
	if err != nil {
		panic("encoding a record of the access log: " + err.Error())
	}
	s.logs.write(AccessLogGroup, "gateway", line)
	s.logs.calls.Access(record)
}

func (l *logs) close() {
	if l != nil {
		l.calls.Close()
		_ = l.store.Close()
	}
}
