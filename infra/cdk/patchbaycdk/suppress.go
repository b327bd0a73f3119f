package patchbaycdk

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// suppress tells cdk-nag why rules do not hold for a construct and what is below it. It writes the metadata that
// cdk-nag reads, rather than by its library, which whoever does not run cdk-nag would load for nothing.
func suppress(construct constructs.IConstruct, reasons map[string]string) {
	rules := []any{}
	for _, id := range slices.Sorted(maps.Keys(reasons)) {
		rules = append(rules, map[string]any{"id": id, "reason": reasons[id]})
	}
	for _, child := range *construct.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		if resource, ok := child.(awscdk.CfnResource); ok {
			resource.AddMetadata(jsii.String("cdk_nag"), map[string]any{"rules_to_suppress": rules})
		}
	}
}
