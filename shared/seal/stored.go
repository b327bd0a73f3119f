package seal

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"patchbay/shared/outage"
)

// SecretsManager is what Stored needs of the client of AWS Secrets Manager.
type SecretsManager interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (
		*secretsmanager.GetSecretValueOutput, error)
	PutSecretValue(context.Context, *secretsmanager.PutSecretValueInput, ...func(*secretsmanager.Options)) (
		*secretsmanager.PutSecretValueOutput, error)
	UpdateSecretVersionStage(context.Context, *secretsmanager.UpdateSecretVersionStageInput,
		...func(*secretsmanager.Options)) (*secretsmanager.UpdateSecretVersionStageOutput, error)
}

// Stored is a Source on Secrets Manager: the ring is the text of one secret, in either form that ParseRing reads.
type Stored struct {
	Client SecretsManager
	// ID is the secret's ARN or name.
	ID string
}

// Load reads the current version of the secret.
func (s Stored) Load(ctx context.Context) (Ring, error) {
	ring, _, err := s.load(ctx)
	return ring, err
}

func (s Stored) load(ctx context.Context) (ring Ring, version *string, err error) {
	output, err := s.Client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{
		SecretId: &s.ID, VersionStage: aws.String(stageCurrent), // the default, and the label that Change moves
	})
	if err != nil {
		if outage.Is(err) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return Ring{}, nil, fmt.Errorf("reading the secret %s: %w", s.ID, err)
	}
	if ring, err = ParseRing([]byte(aws.ToString(output.SecretString))); err != nil {
		return Ring{}, nil, fmt.Errorf("reading the secret %s: %w", s.ID, err)
	}
	return ring, output.VersionId, nil
}

// ErrChanged is in the error of Change when somebody else changed the ring meanwhile. Nothing of the change is kept.
var ErrChanged = errors.New("the key ring was changed by somebody else meanwhile")

// stageNext marks the version that a change has written and not made the current one yet.
const stageNext = "PATCHBAY_NEXT"

const stageCurrent = "AWSCURRENT"

// Change replaces the ring with what change makes of it, and returns the new one: see Ring.Stage, Ring.Promote and
// Ring.Drop. Of two changes at once one fails with ErrChanged. The version before stays in Secrets Manager as
// AWSPREVIOUS.
func (s Stored) Change(ctx context.Context, change func(Ring) (Ring, error)) (Ring, error) {
	ring, before, err := s.load(ctx)
	if err != nil {
		return Ring{}, err
	}
	changed, err := change(ring)
	if err != nil {
		return Ring{}, err
	}
	text, err := changed.Encode()
	if err != nil {
		return Ring{}, err
	}
	written, err := s.Client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{
		SecretId: &s.ID, SecretString: aws.String(string(text)), VersionStages: []string{stageNext},
	})
	if err != nil {
		return Ring{}, fmt.Errorf("writing the secret %s: %w", s.ID, err)
	}
	// It moves the label from the version that was read, or fails: the condition that PutSecretValue does not know.
	_, err = s.Client.UpdateSecretVersionStage(ctx, &secretsmanager.UpdateSecretVersionStageInput{
		SecretId: &s.ID, VersionStage: aws.String(stageCurrent),
		RemoveFromVersionId: before, MoveToVersionId: written.VersionId,
	})
	if err == nil {
		return changed, nil
	}
	if now, current, failed := s.load(ctx); failed == nil && aws.ToString(current) != aws.ToString(before) {
		if aws.ToString(current) == aws.ToString(written.VersionId) {
			return now, nil // only the answer was lost
		}
		return Ring{}, fmt.Errorf("%w; look at it, and try again", ErrChanged)
	}
	return Ring{}, fmt.Errorf("making the change of the secret %s the current version: %w", s.ID, err)
}
