// Package standins holds the settings and secrets of the systems that a stack on one machine stands in for: the example
// tools' issue tracker and mail server, and whatever the developer keeps in a file of his own.
package standins

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"patchbay/scripts/trackerapi"
)

// SecretsFile is the git-ignored file, beside go.mod, with secrets for local use: {"name": "value"}.
const SecretsFile = "secrets.local.json"

// TrackerToken is what the stand-in of the issue tracker takes as the service's credential. It guards nothing.
const TrackerToken = "local-tracker-token"

// Tracker is the stand-in of the issue tracker. The users of a local authorization server, if its issuer is given, are
// two of the tracker's users, so that "me" means somebody: ada is Priya Natarajan there, and bob is Chidi Okafor.
func Tracker(issuer string) *trackerapi.API {
	options := trackerapi.Options{Token: TrackerToken}
	if issuer != "" {
		options.Identities = map[string][]trackerapi.Identity{
			"priya": {{Issuer: issuer, Subject: "ada"}},
			"chidi": {{Issuer: issuer, Subject: "bob"}},
		}
	}
	return trackerapi.New(options)
}

// Systems say where the stand-ins are, and what the developer has set.
type Systems struct {
	// TrackerURL is the issue tracker, and MailAddress the mail server, as functions reach them.
	TrackerURL, MailAddress string
	// LookupEnv gives the settings of the developer, which come before the stand-ins'; nil means none.
	LookupEnv func(string) (string, bool)
}

// Setting is the value of a variable that contracts leave to the deployment; empty when nobody gives one.
func (s Systems) Setting(name string) string {
	if s.LookupEnv != nil {
		if value, ok := s.LookupEnv(name); ok {
			return value
		}
	}
	return map[string]string{
		"TRACKER_API_URL":   s.TrackerURL,
		"SMTP_ADDR":         s.MailAddress,
		"MAIL_FROM":         "patchbay@example.com",
		"DOWNLOAD_BASE_URL": "https://downloads.example.com",
	}[name]
}

// Secret returns a secret from the file of the module, else a stand-in's.
func Secret(module, name string) (string, error) {
	file := filepath.Join(module, SecretsFile)
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
	value, ok := map[string]string{
		"tracker_api_token":    TrackerToken,
		"download_signing_key": "local key that signs links which lead nowhere",
	}[name]
	if !ok {
		return "", fmt.Errorf("the secret %q is not in %s; add it there, as in {%q: \"…\"}", name, file, name)
	}
	return value, nil
}
