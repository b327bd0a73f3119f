package cloudformation

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/infra/cdk/assembly"
)

// finish does, by the API of the service, what moto's CloudFormation leaves out of what it makes: the time to live and
// the backups of tables.
func (e *Engine) finish(ctx context.Context, stack *assembly.Stack) error {
	for _, r := range stack.Resources("AWS::DynamoDB::Table") {
		name, err := r.Ref()
		if err != nil {
			return err
		}
		if err := e.finishTable(ctx, name, r.Properties); err != nil {
			return fmt.Errorf("finishing the table %s: %w", name, err)
		}
	}
	return nil
}

func (e *Engine) finishTable(ctx context.Context, name string, properties map[string]any) error {
	api := dynamodb.NewFromConfig(e.options.Config)
	backups, _ := properties["PointInTimeRecoverySpecification"].(map[string]any)
	if enabled, ok := backups["PointInTimeRecoveryEnabled"].(bool); ok {
		_, err := api.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
			TableName:                        &name,
			PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: &enabled},
		})
		if err != nil {
			return err
		}
	}
	ttl, _ := properties["TimeToLiveSpecification"].(map[string]any)
	attribute, given := ttl["AttributeName"].(string)
	enabled, _ := ttl["Enabled"].(bool)
	if !given {
		return nil
	}
	found, err := api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil || found.TimeToLiveDescription.AttributeName != nil {
		return err
	}
	_, err = api.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled},
	})
	return err
}
