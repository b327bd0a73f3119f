package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"patchbay/shared/tool"
)

// refusal is the failure that an answer stands for; nil for a success. 404 and 409 come out as errNotFound and
// errConflict.
func refusal(got answer) error {
	if got.status >= 200 && got.status < 300 {
		return nil
	}
	switch got.status {
	case http.StatusNotFound:
		return errNotFound
	case http.StatusConflict:
		return errConflict
	case http.StatusUnauthorized:
		return tool.Fail(CodeCredential, "The tracker does not accept this tool's own credential. No other argument "+
			"will help: whoever operates this server has to renew the secret %s.", SecretName)
	case http.StatusForbidden:
		return tool.Fail(CodeForbidden, "The tracker does not allow this tool to do that in this project. No other "+
			"argument will help: whoever operates this server has to ask for the right.")
	case http.StatusTooManyRequests:
		return tool.Fail(CodeBusy, "The tracker is receiving too many requests. Nothing was changed; try again %s.",
			whenAgain(got.retryAfter))
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return refusedValue(got.body)
	}
	return unavailable()
}

// refusedValue names the argument that the API did not accept. Only names that are known here are repeated: the rest of
// the body is the API's own.
func refusedValue(body []byte) error {
	arguments := map[string]string{
		"title": "title", "description": "description", "priority": "priority", "assignee_id": "assignee",
		"state": "status",
	}
	var refused struct {
		Error struct {
			Field string `json:"field"`
		} `json:"error"`
	}
	// A body of another form names no field, like one without.
	_ = json.Unmarshal(body, &refused)
	if argument, ok := arguments[refused.Error.Field]; ok {
		return tool.Fail(CodeRefused, "The tracker does not accept this %s. Nothing was changed; use another.",
			argument)
	}
	return tool.Fail(CodeRefused, "The tracker does not accept this request, and does not say which value is wrong. "+
		"Nothing was changed.")
}

func whenAgain(after time.Duration) string {
	if after <= 0 {
		return "in a minute"
	}
	return "in " + after.Round(time.Second).String()
}

// unreached is the failure for a request that the API has not answered.
func unreached(err error) error {
	if errors.Is(err, errNoToken) {
		return tool.Fail(CodeCredential, "This tool has no credential for the tracker. No other argument will help: "+
			"whoever operates this server has to provide the secret %s.", SecretName)
	}
	return unavailable()
}

func unavailable() error {
	return tool.Fail(CodeUnavailable, "The tracker does not answer as it should at the moment. Nothing was changed; "+
		"try again later.")
}

// malformed is the failure for an answer in a form that is not the API's; why goes to the log alone.
func malformed(ctx context.Context, path []string, why error) error {
	tool.Log(ctx).Warn("tracker answer not understood", "path", path, "error", why.Error())
	return unavailable()
}

// orUnavailable is for what the API always has: when it does not, it fails, or its address is wrong.
func orUnavailable(err error) error {
	if errors.Is(err, errNotFound) || errors.Is(err, errConflict) {
		return unavailable()
	}
	return err
}
