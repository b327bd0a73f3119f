package locallambda

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"time"
)

// maxLine is where a line of output is cut into two. Source: the event size of CloudWatch Logs, 256 KB.
const maxLine = 256 << 10

// drainTime is how long the output of an ended process is waited for. Only a child that left the process group can hold
// the pipe open longer.
const drainTime = time.Second

// lineReader gives the output of a process to a sink, line by line.
type lineReader struct {
	pipe *os.File
	sink func(line []byte)
	done chan struct{}
}

func newLineReader(pipe *os.File, sink func(line []byte)) *lineReader {
	l := &lineReader{pipe: pipe, sink: sink, done: make(chan struct{})}
	go l.read()
	return l
}

func (l *lineReader) read() {
	defer close(l.done)
	defer l.pipe.Close()
	reader := bufio.NewReaderSize(l.pipe, maxLine)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			l.give(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// give hands on what one line feed ended. Carriage returns in it end lines too: AWS's runtime clients write a traceback
// with them, so that CloudWatch Logs keeps it together.
// Source: aws-lambda-python-runtime-interface-client, awslambdaric/bootstrap.py, ERROR_LOG_LINE_TERMINATE.
func (l *lineReader) give(output []byte) {
	for line := range bytes.SplitSeq(bytes.TrimRight(output, "\r\n"), []byte{'\r'}) {
		l.sink(line)
	}
}

// finish returns when all output was given to the sink.
func (l *lineReader) finish() {
	// A pipe always takes a deadline; without one the worst is to wait for that child.
	l.pipe.SetReadDeadline(time.Now().Add(drainTime))
	<-l.done
}
