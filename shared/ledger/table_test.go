package ledger

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ttlDB is an engine that has TTL.
type ttlDB struct {
	*dynamodb.Client
	err    error
	inputs []*dynamodb.UpdateTimeToLiveInput
}

func (d *ttlDB) UpdateTimeToLive(
	_ context.Context, input *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options),
) (*dynamodb.UpdateTimeToLiveOutput, error) {
	d.inputs = append(d.inputs, input)
	return &dynamodb.UpdateTimeToLiveOutput{}, d.err
}

func TestCreateTable(t *testing.T) {
	t.Parallel()
	db := &ttlDB{Client: engine.Client(t)}
	for range 2 {
		if err := CreateTable(t.Context(), db, t.Name()); err != nil {
			t.Fatal(err)
		}
	}
	if len(db.inputs) != 1 {
		t.Fatalf("TTL was enabled %d times", len(db.inputs))
	}
	spec := db.inputs[0].TimeToLiveSpecification
	if *db.inputs[0].TableName != t.Name() || *spec.AttributeName != TTLAttribute || !*spec.Enabled {
		t.Errorf("TTL of %s is %+v", *db.inputs[0].TableName, spec)
	}
	db.err = &types.LimitExceededException{}
	if err := CreateTable(t.Context(), db, t.Name()+"2"); !errors.Is(err, db.err) {
		t.Errorf("error %v", err)
	}
}
