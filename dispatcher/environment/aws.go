package environment

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// AWS is the part of the SDK's configuration that Lambda gives a function in its environment. It is read here rather
// than by the SDK's config package, whose search through files and metadata services a function does not need and pays
// for at every cold start.
func (r *Reader) AWS() aws.Config {
	return aws.Config{
		Region: r.Required("AWS_REGION"),
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(
			r.getenv("AWS_ACCESS_KEY_ID"), r.getenv("AWS_SECRET_ACCESS_KEY"), r.getenv("AWS_SESSION_TOKEN"))),
	}
}
