package consent

import "testing"

func TestCommand(t *testing.T) {
	t.Parallel()
	got := Server{Deployment: "shop-prod", Account: "111111111111", Region: "eu-west-1"}.
		Command("arn:aws-cn:lambda:cn-north-1:222222222222:function:legacy_lookup:live")
	want := "aws lambda add-permission --region cn-north-1 --function-name legacy_lookup --qualifier live " +
		"--statement-id shop-prod --action lambda:InvokeFunction " +
		"--principal arn:aws-cn:iam::111111111111:role/shop-prod-dispatcher-eu-west-1"
	if got != want {
		t.Errorf("Command = %s\nwant      %s", got, want)
	}
}
