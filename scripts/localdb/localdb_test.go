package localdb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/scripts/nodemodules"
)

// start runs an engine for one test, which is skipped where Node packages are missing and may be.
func start(t *testing.T, options Options) *Engine {
	t.Helper()
	engine, err := Start(t.Context(), options)
	if errors.Is(err, nodemodules.ErrNotInstalled) && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return engine
}

func createTable(t *testing.T, db *dynamodb.Client) {
	t.Helper()
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String("notes"),
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	table := &dynamodb.DescribeTableInput{TableName: aws.String("notes")}
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay = time.Millisecond
	})
	if err := waiter.Wait(t.Context(), table, startWait); err != nil {
		t.Fatal(err)
	}
}

func TestDataSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by", "start")
	item := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}

	first := start(t, Options{Dir: dir})
	createTable(t, Client(first.URL))
	put := &dynamodb.PutItemInput{TableName: aws.String("notes"), Item: item}
	if _, err := Client(first.URL).PutItem(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	first.Close()

	second := start(t, Options{Dir: dir})
	get := &dynamodb.GetItemInput{TableName: aws.String("notes"), Key: item}
	got, err := Client(second.URL).GetItem(t.Context(), get)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Item) != 1 {
		t.Errorf("after the restart the item is %v", got.Item)
	}
}

func TestMemoryIsNotShared(t *testing.T) {
	t.Parallel()
	one, other := start(t, Options{}), start(t, Options{})
	createTable(t, Client(one.URL))
	tables, err := Client(other.URL).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatal(err)
	}
	if len(tables.TableNames) != 0 {
		t.Errorf("a second engine has tables %v", tables.TableNames)
	}
}

func TestCloseEndsTheProcess(t *testing.T) {
	t.Parallel()
	engine := start(t, Options{})
	engine.Close()
	engine.Close()
	<-engine.Done()
	if _, err := Client(engine.URL).ListTables(t.Context(), &dynamodb.ListTablesInput{}); err == nil {
		t.Error("a closed engine still answers")
	}
}

// parentVariable makes this test binary the parent that TestEngineEndsWithItsParent kills.
const parentVariable = "LOCALDB_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		parent()
	}
	os.Exit(m.Run())
}

// parent starts an engine, prints its URL and waits to be killed.
func parent() {
	engine, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(engine.URL)
	<-engine.Done()
	os.Exit(1)
}

func TestEngineEndsWithItsParent(t *testing.T) {
	t.Parallel()
	start(t, Options{}) // skips where the packages are missing
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), parentVariable+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	// An open connection tells of the engine's end, which nobody is left to report.
	conn, err := net.Dial("tcp", strings.TrimPrefix(strings.TrimSpace(url), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the engine wrote to an idle connection")
	}
}

// Any page that is open on this machine can reach the engine's port: from its own origin, or from a name of its own
// that resolves to 127.0.0.1.
func TestWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	engine := start(t, Options{Names: []string{"host.docker.internal"}})
	_, port, _ := strings.Cut(strings.TrimPrefix(engine.URL, "http://"), ":")
	tests := map[string]struct {
		method, host string
		header       map[string]string
		status       int
	}{
		"program":                     {"POST", "127.0.0.1:" + port, nil, 200},
		"program that says localhost": {"POST", "LocalHost:" + port, nil, 200},
		"program that speaks IPv6":    {"POST", "[::1]:" + port, nil, 200},
		"program in a container":      {"POST", "host.docker.internal:" + port, nil, 200},
		"page through a known name": {"POST", "host.docker.internal:" + port,
			map[string]string{"Origin": "https://evil.example"}, 403},
		"page":                       {"POST", "", map[string]string{"Origin": "https://evil.example"}, 403},
		"page of this machine":       {"POST", "", map[string]string{"Origin": "http://127.0.0.1:3000"}, 403},
		"page without an origin":     {"POST", "", map[string]string{"Origin": "null"}, 403},
		"image in a page":            {"GET", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"site that resolves to here": {"POST", "rebound.evil.example:" + port, nil, 403},
		"site with a number before":  {"POST", "127.0.0.1.evil.example:" + port, nil, 403},
		"another machine":            {"POST", "192.0.2.7:" + port, nil, 403},
		"preflight": {"OPTIONS", "", map[string]string{
			"Origin": "https://evil.example", "Access-Control-Request-Method": "POST",
			"Access-Control-Request-Headers": "x-amz-target",
		}, 403},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), test.method, engine.URL, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = test.host
			r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
			r.Header.Set("Content-Type", "application/x-amz-json-1.0")
			r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260728/us-east-1/dynamodb/aws4_request, "+
				"SignedHeaders=host, Signature=b")
			r.Header.Set("X-Amz-Date", "20260728T120000Z")
			for field, value := range test.header {
				r.Header.Set(field, value)
			}
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != test.status {
				t.Errorf("got %d %s, %v; want %d", response.StatusCode, body, err, test.status)
			}
			for field := range response.Header {
				if strings.HasPrefix(field, "Access-Control-") {
					t.Errorf("the answer has %s", field)
				}
			}
			if test.status == 403 && !strings.Contains(string(body), "AccessDeniedException") {
				t.Errorf("refused with %s", body)
			}
		})
	}
}

// Whoever asks for another address, as for containers, is called by it.
func TestTheAddressListenedOnIsServed(t *testing.T) {
	t.Parallel()
	engine := start(t, Options{Addr: "0.0.0.0:0"})
	if _, err := Client(engine.URL).ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
		t.Error(err)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { busy.Close() })
	dir := t.TempDir()
	start(t, Options{Dir: dir})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"no packages", Options{NodeModules: t.TempDir()}, "run go tool patchbay install"},
		{"port in use", Options{Addr: busy.Addr().String()}, "address already in use"},
		{"no port", Options{Addr: "localhost"}, "allowed: HOST:PORT"},
		{"bad port", Options{Addr: "localhost:http"}, `port "http"; allowed: 0 to 65535`},
		{"data folder in use", Options{Dir: dir}, "another engine uses it"},
		{"data folder is a file", Options{Dir: file}, "making data folder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			engine, err := Start(context.WithoutCancel(t.Context()), test.options)
			if err == nil {
				engine.Close()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not say %q", err, test.want)
			}
		})
	}
}

func TestStartEndsTheChildOfACancelledStart(t *testing.T) {
	t.Parallel()
	start(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
