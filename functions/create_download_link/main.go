// Command create_download_link is a tool that makes a link by which anybody can download one file until a time.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"patchbay/shared/secret"
	"patchbay/shared/tool"
)

const (
	// defaultLife is how long a link is valid when the caller does not say.
	defaultLife = time.Hour
	// maxLife is shorter than the contract's idempotency.ttl, so that a link never outlives the record by which a
	// repeated call finds it.
	maxLife = 30 * 24 * time.Hour
)

// Input is the file and when its link ends.
type Input struct {
	FileID    string `json:"fileId"`
	ExpiresAt string `json:"expiresAt,omitempty"` // RFC 3339
}

// Output is a link.
type Output struct {
	LinkID    string    `json:"linkId"`
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func main() {
	secrets, err := secret.Open(os.Getenv)
	if err != nil {
		tool.Stop(err)
	}
	signer, err := newSigner(os.Getenv("DOWNLOAD_BASE_URL"), secrets)
	if err != nil {
		tool.Stop(fmt.Errorf("DOWNLOAD_BASE_URL cannot be used: %w", err))
	}
	tool.Serve(create(loadFiles(), signer, time.Now))
}

// create makes the handler of its data, its signer and its clock.
func create(files map[string]string, signer *signer, now func() time.Time,
) func(context.Context, Input) (Output, error) {
	return func(ctx context.Context, in Input) (Output, error) {
		name, ok := files[in.FileID]
		if !ok {
			return Output{}, tool.Fail("unknown_file", "There is no file %q, so no link was created. Ask the "+
				"user for the file's id, such as f_abc123.", in.FileID)
		}
		expires, err := expiry(in.ExpiresAt, now().UTC())
		if err != nil {
			return Output{}, err
		}
		l := link{id: newLinkID(), fileID: in.FileID, fileName: name, expires: expires}
		url, err := signer.url(ctx, l)
		if err != nil {
			tool.Log(ctx).Error("link not signed", "error", err.Error())
			return Output{}, tool.Fail("signing_key_unavailable", "This tool has no usable signing key at the "+
				"moment, so no link was created. No other argument will help: whoever operates this server has to "+
				"provide the secret %s.", secretName)
		}
		tool.ReplayUntil(ctx, expires)
		return Output{LinkID: l.id, URL: url, ExpiresAt: expires}, nil
	}
}

// expiry is when a link ends that is created now, in whole seconds, as its URL has it.
func expiry(wanted string, now time.Time) (time.Time, error) {
	if wanted == "" {
		return now.Add(defaultLife).Truncate(time.Second), nil
	}
	// RFC 3339, 5.6 allows small letters, which Go's parser does not.
	expires, err := time.Parse(time.RFC3339, strings.ToUpper(wanted))
	if err != nil {
		return time.Time{}, tool.Fail("expiry_malformed", "expiresAt is %q, which is no time; write it like %s. No "+
			"link was created.", wanted, now.Add(defaultLife).Format(time.RFC3339))
	}
	expires = expires.UTC().Truncate(time.Second)
	switch {
	case !expires.After(now):
		return time.Time{}, tool.Fail("expiry_in_past", "expiresAt is %s, which is past: it is %s now. No link was "+
			"created; give a later time, or none for one hour.", wanted, now.Format(time.RFC3339))
	case expires.After(now.Add(maxLife)):
		return time.Time{}, tool.Fail("expiry_too_far", "expiresAt is %s, more than 30 days ahead. No link was "+
			"created; give a time until %s.", wanted, now.Add(maxLife).Format(time.RFC3339))
	}
	return expires, nil
}
