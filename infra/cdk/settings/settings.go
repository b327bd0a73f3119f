// Package settings reads patchbay.json: what differs between one deployment of a server and another. It does not link
// the CDK, so that commands which only need to know a name can use it.
package settings

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"patchbay/shared/authorization"
	"patchbay/shared/nearest"
	"patchbay/shared/schema"
)

// Stage is one stage's settings, the defaults of the file and of this package filled in.
type Stage struct {
	// Name is the stage's, as in "prod".
	Name string `json:"-"`
	// Server is the short name of the server, as in "tools".
	Server string `json:"-"`

	// Domain is the server's own domain name; nil for the one that API Gateway gives it.
	Domain *Domain `json:"domain"`
	// Anonymous lets whoever reaches the endpoint call, as nobody in particular. It must be said, so that nobody opens a
	// server by saying nothing. A stage has this or an Authorization, or neither where it has no server.
	Anonymous bool `json:"-"`
	// Authorization says whose access tokens are taken and what they must say, checked and with its defaults filled in;
	// nil without. A stage's replaces that of the defaults as a whole.
	Authorization *authorization.Config `json:"-"`
	// Origins are those of web pages that may call the server.
	Origins []string `json:"origins"`
	// CacheTTLSeconds is how long clients may keep lists.
	CacheTTLSeconds int `json:"cacheTtlSeconds"`
	// MaxCallSeconds is how long the gateway waits for a call; 0 is what the contracts of the deployment need.
	MaxCallSeconds   int `json:"maxCallSeconds"`
	LogRetentionDays int `json:"logRetentionDays"`
	// AlarmTopicARN is the SNS topic that alarms go to; empty for none.
	AlarmTopicARN string        `json:"alarmTopicArn"`
	RemovalPolicy RemovalPolicy `json:"removalPolicy"`
	Networks      Networks      `json:"networks"`
	Throttle      Throttle      `json:"throttle"`
	// GatewayLogRole says whether the stack sets the role by which API Gateway writes logs, of which an account has one
	// in a region.
	GatewayLogRole bool `json:"gatewayLogRole"`
	// Environment holds the variables that contracts leave to the deployment.
	Environment map[string]string `json:"environment"`
	// Secrets say where the secrets lie that contracts declare; see Stage.Secret.
	Secrets map[string]Secret `json:"secrets"`
	// Functions are the ARNs, with version or alias, of what contracts name as local:NAME, and of what the server may
	// call besides: functions that the contracts of other stacks name.
	Functions map[string]string `json:"functions"`
	// Examples says which of the example tools are deployed, too.
	Examples Examples `json:"examples"`
}

// Domain is a domain name with its certificate.
type Domain struct {
	Name           string `json:"name"`
	CertificateARN string `json:"certificateArn"`
	// HostedZoneID is the Route 53 zone that gets the name's record; empty where the names are kept elsewhere.
	HostedZoneID string `json:"hostedZoneId"`
}

// UnmarshalJSON replaces all of a domain: the zone of one name is not that of another.
func (d *Domain) UnmarshalJSON(data []byte) error {
	type plain Domain
	var read plain
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*d = Domain(read)
	return nil
}

// Examples are all, none or some of the example tools.
type Examples struct {
	// All is every one that there is.
	All bool
	// Names are the tools' names where it is some of them.
	Names []string
}

// UnmarshalJSON reads true, false or a list of names, and replaces what was there.
func (e *Examples) UnmarshalJSON(data []byte) error {
	var read Examples
	if json.Unmarshal(data, &read.All) != nil {
		if err := json.Unmarshal(data, &read.Names); err != nil {
			return err
		}
	}
	*e = read
	return nil
}

// RemovalPolicy says what becomes of data when the stack is removed.
type RemovalPolicy string

// Data is kept, and tables are protected from being deleted; or it goes with the stack.
const (
	Retain  RemovalPolicy = "retain"
	Destroy RemovalPolicy = "destroy"
)

// Networks are those that contracts name under execution.network, beside the internet.
type Networks struct {
	// VPC is nil when there is none.
	VPC *VPC `json:"vpc"`
}

// VPC is where the functions of contracts with network "vpc" run.
type VPC struct {
	ID        string   `json:"vpcId"`
	SubnetIDs []string `json:"subnetIds"`
	// AvailabilityZones are those of the subnets, in the same order.
	AvailabilityZones []string `json:"availabilityZones"`
	SecurityGroupIDs  []string `json:"securityGroupIds"`
}

// Throttle is how many requests the gateway lets through.
type Throttle struct {
	RatePerSecond int `json:"ratePerSecond"`
	Burst         int `json:"burst"`
}

// Secret is where a secret lies: exactly one of the fields is set.
type Secret struct {
	// Secret is the name or the ARN of one in Secrets Manager.
	Secret string `json:"secret"`
	// Parameter is the name of one in the Parameter Store.
	Parameter string `json:"parameter"`
}

// Prefix is the beginning of every name of the deployment on AWS.
func (s *Stage) Prefix() string { return s.Server + "-" + s.Name }

// Secret says where the secret lies that contracts call by this name. What is not set has a folder of its own, so that
// no contract can name the server's own secret.
func (s *Stage) Secret(name string) Secret {
	if where, ok := s.Secrets[name]; ok {
		return where
	}
	return Secret{Secret: s.Prefix() + "/tools/" + name}
}

// SealKeys is the name of the server's own secret, the keys that seal requestState: whoever has them confirms calls.
func (s *Stage) SealKeys() string { return s.Prefix() + "/seal-keys" }

// checkSecrets keeps the server's own secret from tools.
func (s *Stage) checkSecrets() error {
	for _, name := range slices.Sorted(maps.Keys(s.Secrets)) {
		where := s.Secrets[name].Secret
		if where == s.SealKeys() || strings.Contains(where, ":secret:"+s.SealKeys()) {
			return fmt.Errorf("stage %s: the secret %q lies in %s, which is the server's own; allowed: any other secret",
				s.Name, name, where)
		}
	}
	return nil
}

// DefaultStage is the stage of whoever names none.
const DefaultStage = "dev"

//go:embed patchbay.schema.json
var schemaText []byte

var compiled = sync.OnceValue(func() *schema.Schema {
	s, err := schema.Compile(schemaText, schema.Limits{})
	if err != nil {
		panic(fmt.Sprintf("the schema of patchbay.json: %v", err))
	}
	return s.For("the file")
})

// file is patchbay.json.
type file struct {
	Name     string                     `json:"name"`
	Defaults json.RawMessage            `json:"defaults"`
	Stages   map[string]json.RawMessage `json:"stages"`
}

// Read returns a stage's settings; an empty name is DefaultStage. serverName is the name in server.json, from which the
// server's slug comes where the file names none. The error is a sentence about everything that is wrong.
func Read(path, stage, serverName string) (*Stage, error) {
	if stage == "" {
		stage = DefaultStage
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(`%s does not exist; it says what stages there are, like {"stages": {"dev": {}}}`, path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the deployment's settings: %w", err)
	}
	s, err := Parse(data, stage, serverName)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return s, nil
}

// Parse is Read of text that was read before.
func Parse(data []byte, stage, serverName string) (*Stage, error) {
	if err := compiled().Validate(data); err != nil {
		return nil, invalid(err)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("decoding the deployment's settings: %w", err)
	}
	own, ok := f.Stages[stage]
	if !ok {
		return nil, unknownStage(stage, slices.Sorted(maps.Keys(f.Stages)))
	}
	s := &Stage{
		Name: stage, CacheTTLSeconds: 300, LogRetentionDays: 30, RemovalPolicy: Retain,
		Throttle: Throttle{RatePerSecond: 100, Burst: 200}, GatewayLogRole: true,
	}
	// What is decoded second replaces what was decoded first, setting by setting; maps of names are joined, which is
	// what decoding into a map does. The schema demands all of the objects that are neither.
	for _, layer := range []json.RawMessage{f.Defaults, own} {
		if len(layer) == 0 {
			continue
		}
		if err := json.Unmarshal(layer, s); err != nil {
			return nil, fmt.Errorf("decoding a stage's settings: %w", err)
		}
	}
	if err := s.readCallers(f.Defaults, own); err != nil {
		return nil, err
	}
	var err error
	if s.Server, err = slug(f.Name, serverName); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check finds what a schema cannot say.
func (s *Stage) check() error {
	if strings.Contains(s.Prefix()+"-", "-tool-") {
		return fmt.Errorf("the name %s has the word \"tool\" after a hyphen, by which a server's functions are told from "+
			"another's; allowed: any other name of server and stage", s.Prefix())
	}
	for _, reserved := range []string{"aws", "ssm"} {
		if strings.HasPrefix(s.Prefix(), reserved) {
			return fmt.Errorf("the name %s begins with %q, which the Parameter Store keeps to itself; allowed: any other name "+
				"of the server, under \"name\"", s.Prefix(), reserved)
		}
	}
	if v := s.Networks.VPC; v != nil && len(v.AvailabilityZones) != len(v.SubnetIDs) {
		return fmt.Errorf("stage %s: networks.vpc has %d availabilityZones for %d subnetIds; allowed: the zone of each "+
			"subnet, in the same order", s.Name, len(v.AvailabilityZones), len(v.SubnetIDs))
	}
	if s.Throttle.Burst < s.Throttle.RatePerSecond {
		return fmt.Errorf("stage %s: throttle.burst is %d, below ratePerSecond %d; allowed: at least as many",
			s.Name, s.Throttle.Burst, s.Throttle.RatePerSecond)
	}
	return s.checkSecrets()
}

func unknownStage(stage string, known []string) error {
	hint := ""
	if found := nearest.Name(stage, known); found != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", found)
	}
	return fmt.Errorf("there is no stage %q%s; allowed: %s", stage, hint, strings.Join(known, ", "))
}

// invalid makes one sentence a fault of what the schema found.
func invalid(err error) error {
	var found *schema.Invalid
	if !errors.As(err, &found) {
		return err
	}
	lines := make([]string, 0, len(found.Failures)+1)
	for _, failure := range found.Failures {
		lines = append(lines, failure.String())
	}
	if found.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d faults more", found.More))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// maxSlug leaves room for a stage and the rest in the names of functions, 64 characters.
const maxSlug = 18

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug is the name that the file gives, which the schema has checked, or one made of the server's.
func slug(given, serverName string) (string, error) {
	if given != "" {
		return given, nil
	}
	made := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(serverName), "-"), "-")
	if made == "" || made[0] < 'a' || len(made) > maxSlug {
		return "", fmt.Errorf("the name %q in server.json makes no name on AWS of at most %d characters; add one beside "+
			`"stages", like "name": "tools"`, serverName, maxSlug)
	}
	return made, nil
}
