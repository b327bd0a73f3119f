package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"patchbay/scripts/localstack"
)

// jwt is the beginning of a JSON Web Token: header and claims, each a JSON object in Base64.
var jwtText = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}`)

// leaked says where a stack has logged a token or a secret since it began: in what its functions, its authorization
// server and the gateway write, and in the files that keep it.
func (s *server) leaked() error {
	secrets := []string{s.machine.Secret}
	for _, user := range s.users {
		secrets = append(secrets, user.Password)
	}
	faults := []error{}
	for _, line := range s.log.find("") {
		faults = append(faults, leak(line, secrets))
	}
	read := 0
	err := filepath.WalkDir(localstack.LogDir(s.data), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for line := range strings.Lines(string(data)) {
			if err := leak(line, secrets); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", path, err))
			}
		}
		return nil
	})
	if read == 0 {
		err = errors.Join(err, errors.New("there are no files of logs"))
	}
	return errors.Join(append(faults, err)...)
}

// leak is an error for a text with a token or one of the secrets in it.
func leak(text string, secrets []string) error {
	if found := jwtText.FindString(text); found != "" {
		return fmt.Errorf("a token is logged: %s", text)
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			return fmt.Errorf("a secret is logged: %s", text)
		}
	}
	return nil
}

func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	secrets := []string{"s3cret"}
	token := tokenOf(mayAll, "contacts:read")
	for text, leaks := range map[string]bool{
		"authorization: Bearer " + token: true, "query=" + token[:len(token)/2]: true, `{"password":"s3cret"}`: true,
		`{"requestId":"0b54b1c5-1a22-4f4c-9d0f-3f8f7c9a1b2c"}`: false,
	} {
		if err := leak(text, secrets); (err != nil) != leaks {
			t.Errorf("%s: %v", text, err)
		}
	}
}
