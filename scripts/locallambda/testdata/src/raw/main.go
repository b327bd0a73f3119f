// Command raw is a Lambda runtime of its own that tells what the Runtime API answers to mistakes.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

type runtime struct{ address, base string }

func main() {
	address := os.Getenv("AWS_LAMBDA_RUNTIME_API")
	r := runtime{address: address, base: "http://" + address + "/2018-06-01/runtime/"}
	if os.Getenv("INIT") == "error" {
		body := `{"errorType":"Extension.Bad","errorMessage":"no configuration"}`
		fmt.Println("init error:", r.post("init/error", "application/json", strings.NewReader(body)))
		os.Exit(1)
	}
	for {
		r.serve()
	}
}

func (r runtime) serve() {
	response, err := http.Get(r.base + "invocation/next")
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	var event struct {
		Do   string
		Size int
	}
	if err := json.NewDecoder(response.Body).Decode(&event); err != nil {
		panic(err)
	}
	id := response.Header.Get("Lambda-Runtime-Aws-Request-Id")
	switch event.Do {
	case "mistakes":
		r.mistakes(id)
	case "big":
		body := bytes.Repeat([]byte("x"), event.Size)
		fmt.Println("big:", r.post("invocation/"+id+"/response", "text/plain", bytes.NewReader(body)))
	case "truncate":
		r.truncate(id)
	case "plain-error":
		fmt.Println(r.post("invocation/"+id+"/error", "text/plain", strings.NewReader("not JSON")))
	case "null":
		r.post("invocation/"+id+"/response", "application/json", strings.NewReader("null"))
	}
}

// mistakes makes every mistake that the API refuses, and answers with the statuses it got.
func (r runtime) mistakes(id string) {
	statuses := map[string]int{
		"unknown id": r.post("invocation/unknown/response", "application/json", strings.NewReader("1")),
		"error for an unknown id": r.post("invocation/unknown/error", "application/json",
			strings.NewReader(`{"errorType":"X"}`)),
		"init error after init":  r.post("init/error", "application/json", strings.NewReader(`{"errorType":"X"}`)),
		"next before the answer": r.get("invocation/next"),
		"no such call":           r.get("invocation/previous"),
		"unknown response mode":  r.badMode(id),
		"page of another origin": r.as(id, "Origin", "https://evil.example"),
		"page of some browsers":  r.as(id, "Sec-Fetch-Site", "cross-site"),
		"site that resolves":     r.as(id, "Host", "evil.example"),
	}
	body, err := json.Marshal(statuses)
	if err != nil {
		panic(err)
	}
	fmt.Println("answer:", r.post("invocation/"+id+"/response", "application/json", bytes.NewReader(body)))
	fmt.Println("second answer:", r.post("invocation/"+id+"/response", "application/json", bytes.NewReader(body)))
}

func (r runtime) badMode(id string) int {
	return r.as(id, "Lambda-Runtime-Function-Response-Mode", "sideways")
}

// as answers with a header field that the API refuses.
func (r runtime) as(id, field, value string) int {
	request, err := http.NewRequest(http.MethodPost, r.base+"invocation/"+id+"/response", strings.NewReader("1"))
	if err != nil {
		panic(err)
	}
	if request.Header.Set(field, value); field == "Host" {
		request.Host = value
	}
	return status(http.DefaultClient.Do(request))
}

// truncate breaks off in the middle of an answer, and lives on.
func (r runtime) truncate(id string) {
	connection, err := net.Dial("tcp", r.address)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(connection, "POST /2018-06-01/runtime/invocation/%s/response HTTP/1.1\r\nHost: %s\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", id, r.address)
	connection.Close()
	select {}
}

func (r runtime) get(path string) int { return status(http.Get(r.base + path)) }

func (r runtime) post(path, contentType string, body io.Reader) int {
	return status(http.Post(r.base+path, contentType, body))
}

func status(response *http.Response, err error) int {
	if err != nil {
		panic(err)
	}
	response.Body.Close()
	return response.StatusCode
}
