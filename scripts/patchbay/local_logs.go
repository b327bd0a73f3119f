package main

import (
	"io"
	"os"
	"sync"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"patchbay/scripts/localstack"
	"patchbay/scripts/logview"
)

// localLogs say how what a local stack logs is shown.
type localLogs struct {
	format string
	trace  bool
}

func (l *localLogs) flags(command *cobra.Command) {
	command.Flags().StringVar(&l.format, "log-format", string(logview.Pretty), "how log lines are written: pretty for "+
		"people, json for programs, one object a line")
	command.Flags().BoolVar(&l.trace, "trace", false, "draw the path of each call with its times when it has ended")
	formats := cobra.FixedCompletions([]cobra.Completion{string(logview.Pretty), string(logview.JSON)},
		cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc("log-format", formats); err != nil {
		panic("completing a flag that is there: " + err.Error())
	}
}

// view returns what writes the lines.
func (l *localLogs) view(w io.Writer) (*logview.View, error) {
	format, err := logview.ParseFormat(l.format)
	if err != nil {
		return nil, usageError{err}
	}
	return logview.New(w, logview.Options{Format: format, Colour: coloured(w)}), nil
}

// follow draws the calls of a stack until that closes, if they are wanted. wait returns when the last one is drawn.
func (l *localLogs) follow(stack *localstack.Stack, view *logview.View) (wait func()) {
	if !l.trace {
		return func() {}
	}
	calls, _ := stack.Calls().Subscribe()
	var drawing sync.WaitGroup
	drawing.Go(func() {
		for call := range calls {
			view.Call(call)
		}
	})
	return drawing.Wait
}

// coloured reports whether colours may be written: to a terminal that has them, unless its user wants none.
// Source: no-color.org.
func coloured(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && isatty.IsTerminal(file.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
