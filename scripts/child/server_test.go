package child

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
)

func TestLogGetsTheOutput(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	output := &tail{next: &log}
	server, urls, err := launch(exec.Command("sh", "-c", `echo '{"url":"http://x"}'; echo later`), output)
	if err != nil {
		t.Fatal(err)
	}
	<-server.Done()
	if url := <-urls; url != "http://x" {
		t.Errorf("URL %q", url)
	}
	if got := log.String(); got != "later\n" {
		t.Errorf("log %q", got)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	output := &tail{}
	io.WriteString(output, strings.Repeat("a", 2*tailBytes)+"end")
	if got := output.String(); len(got) != tailBytes+2 || !strings.HasSuffix(got, "end") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-5:])
	}
}
