package localgateway

import (
	"net/http"
	"time"
)

// Access is what the gateway's access log says of a request: never header fields or bodies, which may hold secrets. Its
// names are those of the deployed API's log.
type Access struct {
	RequestID  string `json:"requestId"`
	TraceID    string `json:"traceId,omitempty"`
	IP         string `json:"ip"`
	HTTPMethod string `json:"httpMethod"`
	Path       string `json:"path"`
	Status     int    `json:"status"`
	// ResponseType is the type of the gateway response, where the gateway answered itself; empty where it did not, or
	// where the answer is of no type.
	ResponseType   string `json:"responseType,omitempty"`
	ResponseLength int64  `json:"responseLength"`
	// ResponseLatency is in milliseconds, to the end of the answer.
	ResponseLatency int64 `json:"responseLatency"`
	// Began is when the request was there, and Took how long the gateway had it: the same as ResponseLatency, exactly.
	Began time.Time     `json:"-"`
	Took  time.Duration `json:"-"`
}

// logAccess tells of every request when its answer has ended, also of one whose connection was cut.
func logAccess(next http.Handler, tell func(Access)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		counted := &countingWriter{ResponseWriter: w}
		defer func() {
			took := time.Since(began)
			tell(Access{
				RequestID:       counted.requestID,
				TraceID:         counted.traceID,
				IP:              r.RemoteAddr,
				HTTPMethod:      r.Method,
				Path:            r.URL.Path,
				Status:          counted.status,
				ResponseType:    counted.responseType,
				ResponseLength:  counted.length,
				ResponseLatency: took.Milliseconds(),
				Began:           began,
				Took:            took,
			})
		}()
		next.ServeHTTP(counted, r)
	})
}

// countingWriter keeps the status and counts the bytes of an answer. The gateway itself says the rest, since an answer
// need not have a header: that of a client that has left, or one of the few that cannot be customized.
type countingWriter struct {
	http.ResponseWriter
	status                           int
	length                           int64
	requestID, traceID, responseType string
}

// Unwrap leads http.ResponseController to the connection.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *countingWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *countingWriter) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(data)
	w.length += int64(n)
	return n, err
}
