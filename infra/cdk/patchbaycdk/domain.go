package patchbaycdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsroute53"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
)

// addDomain serves the API at the root of a domain, whose certificate must lie in the API's region.
func addDomain(scope constructs.Construct, rest awsapigateway.RestApi, name *settings.Domain) awsapigateway.DomainName {
	domain := awsapigateway.NewDomainName(scope, jsii.String("Domain"), &awsapigateway.DomainNameProps{
		DomainName: jsii.String(name.Name),
		Certificate: awscertificatemanager.Certificate_FromCertificateArn(scope, jsii.String("Certificate"),
			jsii.String(name.CertificateARN)),
		EndpointType:   awsapigateway.EndpointType_REGIONAL,
		SecurityPolicy: awsapigateway.SecurityPolicy_TLS_1_2,
		Mapping:        rest,
	})
	if name.HostedZoneID != "" {
		awsroute53.NewCfnRecordSet(scope, jsii.String("Record"), &awsroute53.CfnRecordSetProps{
			HostedZoneId: jsii.String(name.HostedZoneID),
			Name:         jsii.String(name.Name),
			Type:         jsii.String("A"),
			AliasTarget: &awsroute53.CfnRecordSet_AliasTargetProperty{
				DnsName:      domain.DomainNameAliasDomainName(),
				HostedZoneId: domain.DomainNameAliasHostedZoneId(),
			},
		})
	}
	return domain
}
