package patchbaycdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
	"patchbay/shared/handle"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
)

// tableSet holds what outlives a call: the catalogue, the records of calls, and tools' state.
type tableSet struct{ registry, ledger, state awsdynamodb.Table }

func newTables(scope constructs.Construct, stage *settings.Stage) tableSet {
	prefix := stage.Prefix()
	return tableSet{
		// The registry has no TTL: what a publish supersedes is deleted by publishers.
		registry: newTable(scope, "Registry", stage, awsdynamodb.TableProps{
			TableName:    jsii.String(registryTable(prefix)),
			PartitionKey: key(registry.PartitionKey),
			SortKey:      key(registry.SortKey),
		}),
		ledger: newTable(scope, "Ledger", stage, awsdynamodb.TableProps{
			TableName:           jsii.String(ledgerTable(prefix)),
			PartitionKey:        key(ledger.PartitionKey),
			SortKey:             key(ledger.SortKey),
			TimeToLiveAttribute: jsii.String(ledger.TTLAttribute),
		}),
		state: newTable(scope, "State", stage, awsdynamodb.TableProps{
			TableName:           jsii.String(stateTable(prefix)),
			PartitionKey:        key(handle.PartitionKey),
			TimeToLiveAttribute: jsii.String(handle.TTLAttribute),
		}),
	}
}

func key(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
}

// newTable sets what all tables have in common. The key is AWS's own for DynamoDB in this account: it costs next to
// nothing, since DynamoDB keeps table keys for minutes, and its use stands in CloudTrail, which that of a key that AWS
// owns does not. Whoever needs a key of their own changes the tables that Server hands out.
func newTable(
	scope constructs.Construct, id string, stage *settings.Stage, props awsdynamodb.TableProps,
) awsdynamodb.Table {
	props.BillingMode = awsdynamodb.BillingMode_PAY_PER_REQUEST
	props.PointInTimeRecoverySpecification = &awsdynamodb.PointInTimeRecoverySpecification{
		PointInTimeRecoveryEnabled: jsii.Bool(true),
	}
	props.Encryption = awsdynamodb.TableEncryption_AWS_MANAGED
	props.RemovalPolicy = removal(stage)
	props.DeletionProtection = jsii.Bool(stage.RemovalPolicy == settings.Retain)
	return awsdynamodb.NewTable(scope, jsii.String(id), &props)
}
