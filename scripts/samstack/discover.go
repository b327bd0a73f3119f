package samstack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// discovery asks the server what it is.
const discovery = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// discover asks until the server answers: SAM takes requests before it can serve them, and answers 502 meanwhile.
func (s *Stack) discover(ctx context.Context) error {
	const attempts = 3
	var err error
	for range attempts {
		if err = s.ask(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}

func (s *Stack) ask(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(discovery))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover",
	} {
		request.Header.Set(name, value)
	}
	if s.SignIn != nil {
		token, err := s.MachineToken(ctx, s.SignIn.Machine.Scopes...)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %.500s", response.StatusCode, body)
	}
	return nil
}
