package patchbaycdk

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// An event that waited for as long as it may, and a publish that then takes as long as it may, are over before
// CloudFormation gives up: what is published later would undo its rollback.
func TestNothingIsPublishedAfterCloudFormationGaveUp(t *testing.T) {
	t.Parallel()
	configurations := teamServer().Resources("AWS::Lambda::EventInvokeConfig")
	if len(configurations) != 1 {
		t.Fatalf("%d configurations of asynchronous events", len(configurations))
	}
	events := properties(t, configurations[0])
	registrar := teamServer().function(t, registrarName("tools-prod"))
	latest := seconds(t, events["MaximumEventAgeInSeconds"]) + seconds(t, registrar["Timeout"])
	waits := documentedTimeouts(t, "../../../docs/registrar.md",
		"../../../tests/deployment/testdata/hand-written.template.json")
	for whose, s := range map[string]*synthesized{"the server": teamServer(), "tools of another stack": otherTeam()} {
		waits[whose] = seconds(t, properties(t, s.Resources("Custom::PatchbayTools")[0])["ServiceTimeout"])
	}
	for whose, wait := range waits {
		if wait <= latest {
			t.Errorf("%s: CloudFormation waits for %d seconds, and a publish may end after %d", whose, wait, latest)
		}
	}
}

// documentedTimeouts are those in files for people who write templates by hand.
func documentedTimeouts(t *testing.T, files ...string) map[string]int {
	t.Helper()
	timeouts := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`ServiceTimeout\W+(?:number, )?(\d+)`).FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s tells no ServiceTimeout", file)
		}
		for i, match := range found {
			timeouts[fmt.Sprintf("%s, no. %d", file, i+1)] = seconds(t, string(match[1]))
		}
	}
	return timeouts
}

func seconds(t *testing.T, value any) int {
	t.Helper()
	parsed, err := strconv.Atoi(fmt.Sprint(value))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// People reach the registrar by an alias that is always its latest code.
func TestRegistrarTakesOrders(t *testing.T) {
	t.Parallel()
	aliases := teamServer().Resources("AWS::Lambda::Alias")
	if len(aliases) != 1 {
		t.Fatalf("%d aliases; want that for operators", len(aliases))
	}
	checkHas(t, "the alias", properties(t, aliases[0]), map[string]any{
		"FunctionName": "tools-prod-registrar", "FunctionVersion": "$LATEST", "Name": "operators",
	})
}
