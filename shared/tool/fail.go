package tool

import (
	"errors"
	"fmt"

	"patchbay/shared/mcp"
)

// Fail is a failure that the tool foresaw. Code is one of the contract's failureModes; the dispatcher logs any other as
// a defect. The formatted text goes to the model as it stands, so it says what was wrong with which value and what to
// do instead, and nothing that the caller may not know. The error may be wrapped on its way out of the handler; only
// this text travels.
func Fail(code, format string, args ...any) error {
	return &failure{code: code, text: fmt.Sprintf(format, args...)}
}

// failure is the error that Fail makes.
type failure struct{ code, text string }

// Error returns the text with its code in front, as logs want it.
func (f *failure) Error() string { return f.code + ": " + f.text }

// resultOfError encodes the two errors that are answers; any other comes back.
func resultOfError(err error) (ended, error) {
	if failed, ok := errors.AsType[*failure](err); ok {
		end := ended{outcome: outcomeToolError, code: failed.code}
		wire, err := wireOf(Result{
			Content: []mcp.Content{Text(failed.text)},
			IsError: true,
			Meta:    map[string]any{mcp.MetaFailure: map[string]string{"code": failed.code}},
		})
		if err != nil {
			return ended{}, err
		}
		end.result, err = encode(wire)
		return end, err
	}
	if asked, ok := errors.AsType[*question](err); ok {
		result, err := encode(asked.result)
		return ended{result: result, outcome: outcomeAsks}, err
	}
	return ended{}, err
}
