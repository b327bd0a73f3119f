// Package outage tells a service of AWS that has not decided about a request from one that said no. What was read
// before may serve on in the first case, for a while, and never in the second.
package outage

import (
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Is reports whether the error of an SDK client means that the service is out of reach, out of order or overrun, or
// that its answer was cut off. Anything else that a service says is an answer.
func Is(err error) bool {
	var (
		unsent   *smithyhttp.RequestSendError
		canceled *aws.RequestCanceledError
		answer   *awshttp.ResponseError
	)
	if !errors.As(err, &answer) {
		return errors.As(err, &unsent) || errors.As(err, &canceled)
	}
	status := answer.HTTPStatusCode()
	throttled := retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err)
	return status < http.StatusBadRequest || status >= http.StatusInternalServerError ||
		status == http.StatusTooManyRequests || throttled == aws.TrueTernary
}
