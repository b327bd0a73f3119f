package authorization

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// maxFileBytes bounds what ReadFile takes for a configuration.
const maxFileBytes = 1 << 20

// defaultLeewaySeconds is by how much clocks may differ where nothing is said: more than those of machines that keep
// time, less than a token's life by far.
const defaultLeewaySeconds = 30

// ReadFile reads the configuration in a file, as Parse does. The error names the file and what is wrong in it.
func ReadFile(path string) (*Config, error) {
	info, err := os.Stat(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("reading whose tokens are taken: %w", err)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("reading whose tokens are taken: %s has more than %d bytes", path, maxFileBytes)
	}
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("reading whose tokens are taken: %w", err)
	}
	config, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading whose tokens are taken from %s: %w", path, err)
	}
	return config, nil
}

// Parse reads a configuration, checks all of it and fills in defaults. It takes no unknown members, none in another
// letter case, none twice and no nulls. The error names every member that is wrong, and what is allowed there.
func Parse(data []byte) (*Config, error) {
	var value json.RawMessage
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, fmt.Errorf("the authorization configuration is not JSON%s: %w", lineOf(data, err), err)
	}
	if err := checkShape(data); err != nil {
		return nil, err
	}
	config := &Config{}
	if err := json.Unmarshal(data, config); err != nil {
		return nil, fmt.Errorf("decoding the authorization configuration: %w", err)
	}
	if err := config.Complete(); err != nil {
		return nil, err
	}
	return config, nil
}

// lineOf says in which line of a text a fault of its syntax is; nothing of other errors.
func lineOf(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	return fmt.Sprintf(" in line %d", 1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")))
}

// Complete fills in defaults and checks all of a configuration that a program put together. The error is that of Parse.
func (c *Config) Complete() error {
	c.fill()
	return c.check()
}

func (c *Config) fill() {
	if c.LeewaySeconds == nil {
		seconds := defaultLeewaySeconds
		c.LeewaySeconds = &seconds
	}
	if c.Challenge == "" {
		c.Challenge = ChallengeComputed
	}
	for i := range c.Issuers {
		issuer := &c.Issuers[i]
		if issuer.Provider == "" {
			issuer.Provider = ProviderGeneric
		}
		if issuer.Algorithms == nil {
			issuer.Algorithms = slices.Clone(ownAlgorithms(issuer.Provider))
		}
	}
}

// ownAlgorithms are those that a provider signs access tokens with unless somebody has told it otherwise. The products
// all use RS256; RFC 9068, section 2.1, demands it of everybody, and others that follow the RFC use the two beside it.
func ownAlgorithms(provider Provider) []string {
	if provider == ProviderGeneric {
		return []string{"RS256", "PS256", "ES256"}
	}
	return []string{"RS256"}
}
