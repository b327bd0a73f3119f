package motoserver_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"patchbay/scripts/motoserver"
	"patchbay/scripts/motoserver/motoservertest"
	"patchbay/scripts/pytools"
)

func buckets(t *testing.T, server *motoserver.Server) int {
	t.Helper()
	out, err := client(server).ListBuckets(t.Context(), &s3.ListBucketsInput{})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Buckets)
}

func client(server *motoserver.Server) *s3.Client {
	return s3.NewFromConfig(server.Config(), func(o *s3.Options) { o.UsePathStyle = true })
}

// Two servers at a time share nothing, and one that was closed is gone.
func TestServersAreTheirOwn(t *testing.T) {
	t.Parallel()
	first := motoservertest.Start(t, os.Getenv, motoserver.Options{})
	second := motoservertest.Start(t, os.Getenv, motoserver.Options{})
	_, err := client(first).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("only-in-the-first")})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := buckets(t, first), buckets(t, second); a != 1 || b != 0 {
		t.Errorf("%d and %d buckets, want 1 and 0", a, b)
	}
	first.Close()
	first.Close()
	<-first.Done()
	if _, err := client(first).ListBuckets(t.Context(), &s3.ListBucketsInput{}); err == nil {
		t.Error("a server answers after its Close")
	}
	buckets(t, second)
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := motoserver.Start(t.Context(), motoserver.Options{Bin: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "starting moto") {
		t.Errorf("error %v", err)
	}
}

func TestStartWithoutMoto(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := motoserver.Start(t.Context(), motoserver.Options{}); !errors.Is(err, pytools.ErrNotInstalled) {
		t.Errorf("error %v, want %v", err, pytools.ErrNotInstalled)
	}
}
