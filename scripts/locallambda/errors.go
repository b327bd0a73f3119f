package locallambda

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Unhandled is what FunctionError says of every failed invocation: AWS no longer uses another word.
const Unhandled = "Unhandled"

// Error is a refusal by the Lambda service: the function did not run. The codes are AWS's exception names.
// Source: docs.aws.amazon.com/lambda/latest/api/API_Invoke.html, "Errors".
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is the exception's name, like TooManyRequestsException.
	Code string
	// Reason says which limit was met, for TooManyRequestsException alone.
	Reason string
	// Message is for people.
	Message string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func notFound(arn string) *Error {
	return &Error{Status: http.StatusNotFound, Code: "ResourceNotFoundException", Message: "Function not found: " + arn}
}

func throttled(reason string) *Error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: "TooManyRequestsException", Reason: reason, Message: "Rate Exceeded.",
	}
}

func accessDenied(reason string) *Error {
	return &Error{Status: http.StatusForbidden, Code: "AccessDeniedException", Message: reason}
}

func invalidParameter(format string, args ...any) *Error {
	return &Error{
		Status: http.StatusBadRequest, Code: "InvalidParameterValueException", Message: fmt.Sprintf(format, args...),
	}
}

func invalidContent(err error) *Error {
	return &Error{
		Status: http.StatusBadRequest, Code: "InvalidRequestContentException",
		Message: "Could not parse request body into json: " + err.Error(),
	}
}

func requestTooLarge(size string, kind string, limit int) *Error {
	return &Error{
		Status: http.StatusRequestEntityTooLarge, Code: "RequestTooLargeException",
		Message: fmt.Sprintf("%s payload is too large for the %s invocation type (limit %d bytes)", size, kind, limit),
	}
}

func serviceError(message string) *Error {
	return &Error{Status: http.StatusInternalServerError, Code: "ServiceException", Message: message}
}

func errClosed() *Error { return serviceError("The local Lambda service is closed.") }

// write answers a request with the error as AWS writes it. AWS spells the message's key with a capital in some
// exceptions and without in others, and an SDK reads only the spelling that its model has.
func (e *Error) write(w http.ResponseWriter) {
	body := map[string]string{"Type": "User", "Message": e.Message, "message": e.Message}
	if e.Status >= http.StatusInternalServerError {
		body["Type"] = "Service"
	}
	if e.Reason != "" {
		body["Reason"] = e.Reason
	}
	w.Header().Set("X-Amzn-Errortype", e.Code)
	writeJSON(w, e.Status, body)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		// Only this package's own structs and json.RawMessage that was checked come here.
		panic("locallambda: encoding an answer: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(data)
}

// failure is the payload of an invocation that failed, as AWS writes it for failures that the function could not
// report itself.
type failure struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

func (f failure) payload() []byte {
	data, err := json.Marshal(f)
	if err != nil {
		panic("locallambda: encoding two strings: " + err.Error())
	}
	return data
}

func responseTooLarge(limit int) []byte {
	return failure{
		Type:    "Function.ResponseSizeTooLarge",
		Message: fmt.Sprintf("Response payload size exceeded maximum allowed payload size (%d bytes).", limit),
	}.payload()
}
