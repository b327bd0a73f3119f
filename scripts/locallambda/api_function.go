package locallambda

import (
	"math"
	"net/http"
)

// configuration is the part of AWS's FunctionConfiguration that has a meaning here.
// Source: docs.aws.amazon.com/lambda/latest/api/API_GetFunctionConfiguration.html.
type configuration struct {
	FunctionName string
	FunctionArn  string
	Version      string
	Runtime      string
	Handler      string
	PackageType  string
	State        string
	// Timeout is in whole seconds, rounded up.
	Timeout int
	// MemorySize is in MB.
	MemorySize  int
	Environment struct {
		Variables map[string]string `json:",omitempty"`
	}
}

func (s *Service) serveConfiguration(w http.ResponseWriter, r *http.Request) {
	v, arn, err := s.lookUp(r)
	if err != nil {
		s.refuse(w, err)
		return
	}
	writeJSON(w, http.StatusOK, v.configuration(arn))
}

func (s *Service) serveFunction(w http.ResponseWriter, r *http.Request) {
	v, arn, err := s.lookUp(r)
	if err != nil {
		s.refuse(w, err)
		return
	}
	answer := map[string]any{"Configuration": v.configuration(arn)}
	if v.Concurrency > 0 {
		answer["Concurrency"] = map[string]int{"ReservedConcurrentExecutions": v.Concurrency}
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Service) lookUp(r *http.Request) (*version, string, error) {
	to, err := s.options.place().target(r.PathValue("name"), r.URL.Query().Get("Qualifier"))
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.find(to.name, to.qualifier)
	return v, to.arn(), err
}

func (v *version) configuration(arn string) configuration {
	c := configuration{
		FunctionName: v.Name, FunctionArn: arn, Version: v.number, Runtime: "provided.al2023", Handler: "bootstrap",
		PackageType: "Zip", State: "Active", Timeout: int(math.Ceil(v.Timeout.Seconds())), MemorySize: v.MemoryMB,
	}
	c.Environment.Variables = v.Env
	return c
}
