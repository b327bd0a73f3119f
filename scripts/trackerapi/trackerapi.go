// Package trackerapi is a small issue tracker with a REST API, in memory: the existing system that the tracker tools
// of functions/ stand in front of, for the local stack and for tests. It is not part of what is deployed.
//
//	GET    /v2/projects                      all projects, by key
//	GET    /v2/users                         all users, by login, with the sign-ins that are linked to them
//	GET    /v2/projects/{id}/issues          a project's issues, newest first; filters: state, assignee_id
//	POST   /v2/projects/{id}/issues          create: title, description, priority (default 2), assignee_id
//	GET    /v2/issues/{id}                   one issue, with the transitions that its state allows
//	POST   /v2/issues/{id}/transitions       move it: transition_id
//	DELETE /v2/issues/{id}                   delete it for good
//
// Every request carries "Authorization: Bearer TOKEN". Projects, users and issues are named by UUID. States are
// 1 (open), 2 (in progress) and 3 (done), priorities 1 (high), 2 (medium) and 3 (low). Within a project issues are
// numbered from 1 in the order of their creation, and a number is never used twice.
//
// Lists come in pages: page counts from 1, per_page is cut to what the server allows, and the answer says which values
// it used and how many items there are: {"data": […], "page": 1, "per_page": 25, "total": 63}. A failure is a status of
// 4xx and {"error": {"code", "message", "field"}}; field names the parameter that was wrong, where one was.
package trackerapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// MaxPerPage is how many items a page holds at most, unless Options say otherwise.
const MaxPerPage = 25

// maxBody is how many bytes a request's body may have.
const maxBody = 1 << 20

// Options configure an API. Only Token is needed.
type Options struct {
	// Token is what callers send as bearer token. An API without a token refuses everybody.
	Token string
	// Identities are sign-ins of users, by login, beside the one of SeedIdentity that each has.
	Identities map[string][]Identity
	// MaxPerPage is how many items a page holds at most; 0 means the constant of that name.
	MaxPerPage int
	// Now is the clock behind created_at and updated_at; nil means time.Now.
	Now func() time.Time
}

// API is the tracker: an http.Handler, safe for concurrent use.
type API struct {
	mux     *http.ServeMux
	store   *store
	token   [sha256.Size]byte
	open    bool
	perPage int
}

// New returns a tracker that holds the seed data: the projects WEB, API, OPS and the empty DOCS, and nine users.
func New(options Options) *API {
	if options.MaxPerPage == 0 {
		options.MaxPerPage = MaxPerPage
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	api := &API{
		mux:     http.NewServeMux(),
		store:   seeded(options.Now, options.Identities),
		token:   sha256.Sum256([]byte(options.Token)),
		open:    options.Token != "",
		perPage: options.MaxPerPage,
	}
	api.route("GET /v2/projects", api.listProjects)
	api.route("GET /v2/users", api.listUsers)
	api.route("GET /v2/projects/{id}/issues", api.listIssues)
	api.route("POST /v2/projects/{id}/issues", api.createIssue)
	api.route("GET /v2/issues/{id}", api.getIssue)
	api.route("POST /v2/issues/{id}/transitions", api.moveIssue)
	api.route("DELETE /v2/issues/{id}", api.deleteIssue)
	return api
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.authorized(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="tracker"`)
		writeError(w, &apiError{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "no valid token"})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	a.mux.ServeHTTP(w, r)
}

// authorized compares hashes, so that the time it takes tells nothing about the token or its length.
func (a *API) authorized(r *http.Request) bool {
	got := sha256.Sum256([]byte(bearer(r)))
	return subtle.ConstantTimeCompare(got[:], a.token[:]) == 1 && a.open
}

func bearer(r *http.Request) string {
	const scheme = "Bearer "
	header := r.Header.Get("Authorization")
	if len(header) < len(scheme) || header[:len(scheme)] != scheme {
		return ""
	}
	return header[len(scheme):]
}

// endpoint answers with a status and a body to encode; nil for none.
type endpoint func(r *http.Request) (status int, body any, err error)

func (a *API) route(pattern string, serve endpoint) {
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		status, body, err := serve(r)
		if err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, status, body)
	})
}

func (a *API) listProjects(r *http.Request) (int, any, error) {
	return page(a, r, a.store.listProjects())
}

func (a *API) listUsers(r *http.Request) (int, any, error) {
	return page(a, r, a.store.listUsers())
}

func (a *API) listIssues(r *http.Request) (int, any, error) {
	state, err := intParam(r, "state", 0, stateOpen, stateDone)
	if err != nil {
		return 0, nil, err
	}
	issues, err := a.store.listIssues(r.PathValue("id"), state, r.URL.Query().Get("assignee_id"))
	if err != nil {
		return 0, nil, err
	}
	return page(a, r, issues)
}

func (a *API) createIssue(r *http.Request) (int, any, error) {
	var draft Draft
	if err := readJSON(r, &draft); err != nil {
		return 0, nil, err
	}
	created, err := a.store.create(r.PathValue("id"), draft)
	return http.StatusCreated, created, err
}

func (a *API) getIssue(r *http.Request) (int, any, error) {
	found, err := a.store.issue(r.PathValue("id"))
	return http.StatusOK, found, err
}

func (a *API) moveIssue(r *http.Request) (int, any, error) {
	var body struct {
		TransitionID int `json:"transition_id"`
	}
	if err := readJSON(r, &body); err != nil {
		return 0, nil, err
	}
	moved, err := a.store.move(r.PathValue("id"), body.TransitionID)
	return http.StatusOK, moved, err
}

func (a *API) deleteIssue(r *http.Request) (int, any, error) {
	return http.StatusNoContent, nil, a.store.delete(r.PathValue("id"))
}

// listing is one page of a list.
type listing[T any] struct {
	Data    []T `json:"data"`
	Page    int `json:"page"`
	PerPage int `json:"per_page"`
	Total   int `json:"total"`
}

// page cuts the page that the request asks for out of all items; a page past the end is empty.
func page[T any](a *API, r *http.Request, all []T) (int, any, error) {
	const most = 1 << 20
	number, err := intParam(r, "page", 1, 1, most)
	if err != nil {
		return 0, nil, err
	}
	size, err := intParam(r, "per_page", a.perPage, 1, most)
	if err != nil {
		return 0, nil, err
	}
	size = min(size, a.perPage)
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	return http.StatusOK, listing[T]{Data: all[from:to], Page: number, PerPage: size, Total: len(all)}, nil
}

func intParam(r *http.Request, name string, absent, least, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, &apiError{
			Status: http.StatusBadRequest, Code: "invalid_parameter", Field: name,
			Message: fmt.Sprintf("%s is %q; it is a number from %d to %d", name, text, least, most),
		}
	}
	return n, nil
}

// apiError is a failure as it goes to the caller.
type apiError struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

func (e *apiError) Error() string { return e.Code + ": " + e.Message }

func writeError(w http.ResponseWriter, err error) {
	failure, ok := errors.AsType[*apiError](err)
	if !ok {
		failure = &apiError{Status: http.StatusInternalServerError, Code: "internal", Message: "internal error"}
	}
	writeJSON(w, failure.Status, map[string]*apiError{"error": failure})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here means that the caller has gone; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(body)
}

func readJSON(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return &apiError{
			Status: http.StatusBadRequest, Code: "invalid_json", Message: "the body is not valid: " + err.Error(),
		}
	}
	return nil
}
