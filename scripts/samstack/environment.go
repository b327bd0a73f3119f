package samstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"patchbay/scripts/standins"
	"patchbay/shared/seal"
)

// EnvironmentFile is where the values of variables lie in the data folder, for SAM's --env-vars. samconfig.toml names
// it.
const EnvironmentFile = "environment.json"

// taskRoot is where SAM mounts a function's code, the one folder of this machine that a function sees.
const taskRoot = "/var/task"

// localFiles are the files with secrets that are put beside a function's code, for this machine alone: in the copy that
// was synthesized for local use, which nobody uploads.
const (
	secretsFile  = "patchbay-secrets.json"
	sealKeysFile = "patchbay-seal-keys.json"
)

// writeEnvironment writes, for every function, what the template declares and leaves open. Secrets and keys are not in
// it, but in files beside the functions' code.
func (s *Stack) writeEnvironment() error {
	all := map[string]map[string]string{}
	for _, f := range s.functions {
		values := map[string]string{}
		for name, declared := range f.environment {
			value, err := s.value(f, name)
			if err != nil {
				return fmt.Errorf("preparing %s of function %s: %w", name, f.name, err)
			}
			if value != declared {
				values[name] = value
			}
		}
		if len(values) > 0 {
			all[f.name] = values
		}
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the variables of functions: %w", err)
	}
	if err := os.WriteFile(s.EnvironmentFile(), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the variables of functions: %w", err)
	}
	return nil
}

// EnvironmentFile holds the values of the functions' variables.
func (s *Stack) EnvironmentFile() string { return filepath.Join(s.options.Data, EnvironmentFile) }

// value is what a declared variable of a function is to be here.
func (s *Stack) value(f function, name string) (string, error) {
	switch name {
	case "AWS_ENDPOINT_URL_DYNAMODB":
		return "http://" + s.toContainers(s.databaseAddr), nil
	case "AWS_ENDPOINT_URL_LAMBDA":
		return "http://" + s.toContainers(s.options.LambdaAddr), nil
	case "PATCHBAY_RESOURCE":
		return string(s.resource()), nil
	case "PATCHBAY_SEAL_KEYS_SECRET", "PATCHBAY_SECRETS", "PATCHBAY_METRICS":
		return "", nil // files take the place of the first two, and nobody collects metrics
	case "PATCHBAY_SEAL_KEYS_FILE":
		return taskRoot + "/" + sealKeysFile, s.placeSealKeys(f.dir)
	case "PATCHBAY_SECRETS_FILE":
		return taskRoot + "/" + secretsFile, s.placeSecrets(f)
	}
	if value := s.systems.Setting(name); value != "" && !strings.HasPrefix(name, "PATCHBAY_") {
		return value, nil
	}
	return f.environment[name], nil
}

// placeSealKeys puts the keys that seal requestState beside the dispatcher. They are made at the first start and kept,
// so that a round that was open over a restart can go on.
func (s *Stack) placeSealKeys(dir string) error {
	kept := filepath.Join(s.options.Data, "seal-keys.json")
	keys, err := os.ReadFile(kept)
	if errors.Is(err, fs.ErrNotExist) {
		if keys, err = seal.NewRing().Encode(); err == nil {
			err = os.WriteFile(kept, keys, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("making the keys for requestState: %w", err)
	}
	return place(filepath.Join(dir, sealKeysFile), keys)
}

// placeSecrets puts the secrets that a function declares beside it, and no others.
func (s *Stack) placeSecrets(f function) error {
	var references map[string]string
	if err := json.Unmarshal([]byte(f.environment["PATCHBAY_SECRETS"]), &references); err != nil {
		return fmt.Errorf("reading which secrets it declares: %w", err)
	}
	own := map[string]string{}
	for name := range references {
		value, err := standins.Secret(s.options.Root, name)
		if err != nil {
			return err
		}
		own[name] = value
	}
	data, err := json.Marshal(own)
	if err != nil {
		return fmt.Errorf("encoding the secrets: %w", err)
	}
	return place(filepath.Join(f.dir, secretsFile), data)
}

// place writes a file for a container, whose user may be another than this one. From other users of this machine the
// data folder keeps it, which is closed to them.
func place(file string, data []byte) error {
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return fmt.Errorf("writing a file for the container: %w", err)
	}
	return nil
}
