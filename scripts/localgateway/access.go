package localgateway

import (
	"net/http"
	"time"
)

// Access is what the gateway's access log says of a request: never header fields or bodies, which may hold secrets. Its
// names are those of the deployed API's log.
type Access struct {
	RequestID      string `json:"requestId"`
	TraceID        string `json:"traceId,omitempty"`
	IP             string `json:"ip"`
	HTTPMethod     string `json:"httpMethod"`
	Path           string `json:"path"`
	Status         int    `json:"status"`
	ResponseLength int64  `json:"responseLength"`
	// ResponseLatency is in milliseconds, to the end of the answer.
	ResponseLatency int64 `json:"responseLatency"`
}

// logAccess tells of every request when its answer has ended, also of one whose connection was cut.
func logAccess(next http.Handler, tell func(Access)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		counted := &countingWriter{ResponseWriter: w}
		defer func() {
			tell(Access{
				RequestID:       w.Header().Get("X-Amzn-Requestid"),
				TraceID:         w.Header().Get("X-Amzn-Trace-Id"),
				IP:              r.RemoteAddr,
				HTTPMethod:      r.Method,
				Path:            r.URL.Path,
				Status:          counted.status,
				ResponseLength:  counted.length,
				ResponseLatency: time.Since(began).Milliseconds(),
			})
		}()
		next.ServeHTTP(counted, r)
	})
}

// countingWriter keeps the status and counts the bytes of an answer.
type countingWriter struct {
	http.ResponseWriter
	status int
	length int64
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
