package cloudformation

import (
	"crypto/rand"
	"encoding/json"
	"fmt"

	"patchbay/infra/cdk/assembly"
)

// generated is a value of a secret as Secrets Manager generates one: a random text in a JSON object.
func generated(r assembly.Resource) (string, error) {
	settings, _ := r.Properties["GenerateSecretString"].(map[string]any)
	object := map[string]any{}
	if text, ok := settings["SecretStringTemplate"].(string); ok {
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			return "", fmt.Errorf("decoding its template: %w", err)
		}
	}
	key, _ := settings["GenerateStringKey"].(string)
	length, _ := settings["PasswordLength"].(float64)
	var random string
	for len(random) < int(length) {
		random += rand.Text()
	}
	object[key] = random[:int(length)]
	data, err := json.Marshal(object)
	return string(data), err
}
