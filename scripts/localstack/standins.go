package localstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// secretsFile is the git-ignored file, beside go.mod, with secrets for local use: {"name": "value"}.
const secretsFile = "secrets.local.json"

// standIns are the settings and secrets of the systems that the stack itself stands in for.
type standIns struct {
	settings, secrets map[string]string
	lookupEnv         func(string) (string, bool)
}

func (s *Stack) newStandIns(trackerURL, mailAddress string) standIns {
	return standIns{
		settings: map[string]string{
			"TRACKER_API_URL":   trackerURL,
			"SMTP_ADDR":         mailAddress,
			"MAIL_FROM":         "patchbay@example.com",
			"DOWNLOAD_BASE_URL": "https://downloads.example.com",
		},
		secrets: map[string]string{
			"tracker_api_token":    trackerToken,
			"download_signing_key": "local key that signs links which lead nowhere",
		},
		lookupEnv: s.options.LookupEnv,
	}
}

func (s standIns) setting(name string) string {
	if value, ok := s.lookupEnv(name); ok {
		return value
	}
	return s.settings[name]
}

// secret returns a secret from the file, else a stand-in's.
func (s standIns) secret(module, name string) (string, error) {
	file := filepath.Join(module, secretsFile)
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading local secrets: %w", err)
	}
	var own map[string]string
	if err == nil {
		if err := json.Unmarshal(data, &own); err != nil {
			return "", fmt.Errorf("reading %s: it must be one JSON object of names and texts: %w", file, err)
		}
	}
	if value, ok := own[name]; ok {
		return value, nil
	}
	if value, ok := s.secrets[name]; ok {
		return value, nil
	}
	return "", fmt.Errorf("the secret %q is not in %s; add it there, as in {%q: \"…\"}", name, file, name)
}
