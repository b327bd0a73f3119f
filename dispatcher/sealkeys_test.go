package main

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"patchbay/scripts/motoserver"
	"patchbay/scripts/motoserver/motoservertest"
	"patchbay/shared/seal"
)

// A deployment's keys come from Secrets Manager, which has made the first one itself.
func TestSealKeysFromSecretsManager(t *testing.T) {
	t.Parallel()
	server := motoservertest.Start(t, os.Getenv, motoserver.Options{})
	client := secretsmanager.NewFromConfig(server.Config())
	// What GenerateSecretString of CloudFormation is told, as one request.
	password, err := client.GetRandomPassword(t.Context(), &secretsmanager.GetRandomPasswordInput{
		PasswordLength: aws.Int64(64), ExcludeUppercase: aws.Bool(true), ExcludePunctuation: aws.Bool(true),
		ExcludeCharacters: aws.String("ghijklmnopqrstuvwxyz"), RequireEachIncludedType: aws.Bool(false),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
		Name:         aws.String("desk-prod/seal-keys"),
		SecretString: aws.String(`{"version":1,"generated":"` + *password.RandomPassword + `"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := readSettings(minimalWith(map[string]string{
		"PATCHBAY_SEAL_KEYS_FILE": "", "PATCHBAY_SEAL_KEYS_SECRET": "desk-prod/seal-keys",
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": server.URL, "AWS_REGION": motoserver.Region,
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
	}))
	if err != nil {
		t.Fatal(err)
	}
	binding := seal.Binding{Tool: "greet", Arguments: []byte("a"), Contract: []byte("c")}
	state := seal.State{Kind: seal.KindRound, Expires: time.Now().Add(time.Hour), Tool: "step 2"}
	text, err := settings.sealer(slog.New(slog.DiscardHandler)).Seal(t.Context(), binding, state)
	if err != nil {
		t.Fatal(err)
	}
	other := settings.sealer(slog.New(slog.DiscardHandler)) // another instance
	if got, err := other.Open(t.Context(), text, binding, seal.KindRound); err != nil || got.Tool != "step 2" {
		t.Errorf("got %+v, %v", got, err)
	}
}
