package cloudformation

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"patchbay/infra/cdk/assembly"
)

// upload puts the assets of a stack where its templates look for them, as the CDK's command does before a deployment.
// What is there already is not uploaded again: its name is its content.
func (e *Engine) upload(ctx context.Context, stack *assembly.Stack) error {
	for _, asset := range stack.Assets {
		bucket, err := stack.Text(asset.Bucket)
		if err != nil {
			return fmt.Errorf("finding the bucket of %s: %w", asset.Path, err)
		}
		if err := e.uploadAsset(ctx, bucket, asset); err != nil {
			return fmt.Errorf("uploading %s: %w", asset.Path, err)
		}
	}
	return nil
}

func (e *Engine) uploadAsset(ctx context.Context, bucket string, asset assembly.Asset) error {
	if _, err := e.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &asset.Key}); err == nil {
		return nil
	}
	data, err := content(asset)
	if err != nil {
		return err
	}
	if err := e.makeBucket(ctx, bucket); err != nil {
		return err
	}
	_, err = e.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &asset.Key, Body: bytes.NewReader(data)})
	return err
}

// makeBucket makes the bucket of the CDK's bootstrap, unless it is there.
func (e *Engine) makeBucket(ctx context.Context, bucket string) error {
	if _, err := e.s3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket}); err == nil {
		return nil
	}
	_, err := e.s3.CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket: &bucket,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{
			LocationConstraint: types.BucketLocationConstraint(e.options.Config.Region),
		},
	})
	// The bucket is the account's, and deployments run side by side: another may have made it meanwhile.
	if owned := new(types.BucketAlreadyOwnedByYou); errors.As(err, &owned) {
		return nil
	}
	return err
}

func content(asset assembly.Asset) ([]byte, error) {
	if !asset.Zip {
		return os.ReadFile(asset.Path)
	}
	info, err := os.Stat(asset.Path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return os.ReadFile(asset.Path) // an archive already
	}
	return archive(os.DirFS(asset.Path))
}

// archive packs a folder without compressing it, which is faster, and nobody here waits for a network.
func archive(folder fs.FS) ([]byte, error) {
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	writer.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.NoCompression)
	})
	if err := writer.AddFS(folder); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
