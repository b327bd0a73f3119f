// Package deployment proves the deployment without an account: what a synth writes is deployed into an emulator of AWS
// that is not of this project, read back, updated, rolled back and removed, and IAM's decisions are simulated.
package deployment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"patchbay/infra/cdk/assembly"
	"patchbay/scripts/build"
	"patchbay/scripts/cdkapp"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/motoserver"
	"patchbay/scripts/nodemodules"
	"patchbay/scripts/pytools"
	"patchbay/tests/deployment/cloudformation"
)

// root is the repository's root folder, seen from this package.
var root = filepath.Join("..", "..")

// Where everything is taken to be deployed: the account is moto's own, the region that of the examples' settings.
const (
	account = motoserver.Account
	region  = "eu-west-1"
)

var place = assembly.Environment{Partition: "aws", Region: region, Account: account}

// place is where stacks are opened that read parameters which others have written.
func (w *world) place() assembly.Environment {
	here := place
	here.Parameter = func(name string) (string, error) {
		if strings.HasPrefix(name, "/cdk-bootstrap/") {
			return "30", nil // which the account's bootstrap writes
		}
		got, err := ssm.NewFromConfig(w.config).GetParameter(context.Background(), &ssm.GetParameterInput{Name: &name})
		if err != nil {
			return "", err
		}
		return *got.Parameter.Value, nil
	}
	return here
}

// world is AWS as far as these tests need it, one for all of them: moto, and the control functions' real programs on a
// local Lambda service, since moto runs no code without Docker.
type world struct {
	moto     *motoserver.Server
	config   aws.Config
	service  *locallambda.Service
	programs string // the folder of built programs
	trusted  string // the file with the certificate that the registrar's answers are sent under
	log      *logLines
}

func TestMain(m *testing.M) {
	code := m.Run()
	if begun != nil {
		begun.close()
	}
	os.Exit(code)
}

// begun is the world when somebody has used it.
var begun *world

// theWorld starts it at the first use.
var theWorld = sync.OnceValues(func() (*world, error) {
	ctx := context.Background()
	moto, err := motoserver.Start(ctx, motoserver.Options{})
	if err != nil {
		return nil, err
	}
	w := &world{
		moto: moto, config: moto.Config(), log: &logLines{},
		programs: filepath.Join(root, ".patchbay", "integration", "programs"),
	}
	w.config.Region = region
	// The packages of a deployment are made for arm64; these are the same programs for this machine.
	err = build.Go(ctx, build.GoOptions{
		ModuleDir: root, OutDir: w.programs, Incremental: true,
		Packages: []string{"./dispatcher", "./dispatcher/registrar", "./dispatcher/authorizer"},
		Files:    map[string][]string{"dispatcher": {filepath.Join("functions", "server.json")}},
	})
	if err != nil {
		moto.Close()
		return nil, err
	}
	if w.trusted, err = filepath.Abs(filepath.Join(w.programs, "trusted.pem")); err == nil {
		err = os.WriteFile(w.trusted, cloudformation.Certificate(), 0o644)
	}
	if err != nil {
		moto.Close()
		return nil, err
	}
	w.service = locallambda.New(locallambda.Options{Region: region, Account: account, Log: w.log.add})
	begun = w
	return w, nil
})

func (w *world) close() {
	w.service.Close()
	w.moto.Close()
}

// start returns the world, or skips the test where what it needs is not installed and may be missing.
func start(t *testing.T) *world {
	t.Helper()
	w, err := theWorld()
	missing := errors.Is(err, pytools.ErrNotInstalled) || errors.Is(err, nodemodules.ErrNotInstalled)
	if missing && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// engine returns an engine that has deployed nothing. What custom resources name as their service tokens is run here.
func (w *world) engine(t *testing.T) *cloudformation.Engine {
	t.Helper()
	e := cloudformation.New(cloudformation.Options{Config: w.config, Invoke: w.run})
	t.Cleanup(e.Close)
	return e
}

// run invokes a function by its ARN, and returns when it has ended. The local service has a region of its own.
func (w *world) run(ctx context.Context, arn string, event []byte) error {
	function, found := strings.CutPrefix(arn, fmt.Sprintf("arn:aws:lambda:%s:%s:function:", region, account))
	if !found {
		return fmt.Errorf("%s is no function of this account and region", arn)
	}
	response, err := w.service.Invoke(ctx, function, event)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if failure := response.ErrorPayload(); failure != nil {
		return fmt.Errorf("the function %s failed: %s", function, failure)
	}
	return nil
}

// host runs the program of a control function as the template sets it up, with AWS replaced by moto.
func (w *world) host(t *testing.T, stack *assembly.Stack, name, program string, more map[string]string) {
	t.Helper()
	environment := map[string]string{}
	for _, r := range stack.Resources("AWS::Lambda::Function") {
		if found, err := r.Ref(); err != nil || found != name {
			continue
		}
		resolved, err := r.Stack.Resolve(r.Properties["Environment"])
		if err != nil {
			t.Fatal(err)
		}
		for variable, value := range resolved.(map[string]any)["Variables"].(map[string]any) {
			environment[variable] = fmt.Sprint(value)
		}
	}
	if len(environment) == 0 {
		t.Fatalf("the stack %s has no function %s with an environment", stack.Name, name)
	}
	for _, service := range []string{"DYNAMODB", "LAMBDA", "S3", "SECRETS_MANAGER"} {
		environment["AWS_ENDPOINT_URL_"+service] = w.moto.URL
	}
	environment["AWS_REGION"], environment["SSL_CERT_FILE"] = region, w.trusted
	for variable, value := range more {
		environment[variable] = value
	}
	_, err := w.service.Deploy(locallambda.Function{
		Name: name, Dir: filepath.Join(w.programs, program), Env: environment, Timeout: 2 * time.Minute, MemoryMB: 512,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// logLines keeps what functions wrote.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) add(function, _ string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, function+" "+string(line))
}

// dirOf is the folder of a stage's assembly.
func dirOf(stage string) string { return filepath.Join(root, ".patchbay", "integration", "cdk-"+stage) }

// examplesAssembly is the assembly of the example tools, and securedAssembly that of the stage that asks for tokens,
// each synthesized once.
var (
	examplesAssembly = sync.OnceValues(func() (*assembly.Assembly, error) { return synthesize("examples") })
	securedAssembly  = sync.OnceValues(func() (*assembly.Assembly, error) { return synthesize("secured") })
)

func synthesize(stage string) (*assembly.Assembly, error) {
	options := cdkapp.Options{Module: root, Stage: stage, Output: dirOf(stage)}
	if _, err := cdkapp.Synth(context.Background(), options); err != nil {
		return nil, err
	}
	return assembly.Open(dirOf(stage), place)
}

func examples(t *testing.T) *assembly.Stack {
	t.Helper()
	return stackOf(t, examplesAssembly, "examples")
}

func secured(t *testing.T) *assembly.Stack {
	t.Helper()
	return stackOf(t, securedAssembly, "secured")
}

func stackOf(t *testing.T, synthesized func() (*assembly.Assembly, error), stage string) *assembly.Stack {
	t.Helper()
	a, err := synthesized()
	if errors.Is(err, nodemodules.ErrNotInstalled) && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	var refused *cdkapp.AppError
	if errors.As(err, &refused) {
		t.Fatal(refused.Said)
	}
	if err != nil {
		t.Fatal(err)
	}
	stack, err := a.Stack("patchbay-" + stage)
	if err != nil {
		t.Fatal(err)
	}
	return stack
}
