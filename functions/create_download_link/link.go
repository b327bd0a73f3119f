package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"patchbay/shared/secret"
)

const (
	// secretName is the secret that holds the key which the download server checks signatures with.
	secretName = "download_signing_key"
	// minKey is how many bytes a key has at least: as many as the hash (RFC 2104, section 3).
	minKey = sha256.Size
)

// signer makes links that the download server at base accepts.
type signer struct {
	base    *url.URL
	secrets secret.Source
}

// newSigner checks the download server's URL.
func newSigner(base string, secrets secret.Source) (*signer, error) {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" || parsed.User != nil ||
		parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, fmt.Errorf("the download server's URL is %q; it must be https://HOST or https://HOST/PATH", base)
	}
	return &signer{base: parsed, secrets: secrets}, nil
}

// link is what gives access to one file until a time.
type link struct {
	id, fileID, fileName string
	expires              time.Time
}

func newLinkID() string { return "lnk_" + strings.ToLower(rand.Text()) }

// url returns the link's address: BASE/FILE/NAME?expires=SECONDS&link=ID&signature=MAC.
func (s *signer) url(ctx context.Context, l link) (string, error) {
	key, err := s.key(ctx)
	if err != nil {
		return "", err
	}
	expires := strconv.FormatInt(l.expires.Unix(), 10)
	at := s.base.JoinPath(url.PathEscape(l.fileID), url.PathEscape(l.fileName))
	at.RawQuery = url.Values{
		"expires": {expires}, "link": {l.id}, "signature": {signature(key, l.fileID, expires, l.id)},
	}.Encode()
	return at.String(), nil
}

// key reads the key for every link, so that a renewed one counts at once. A line break behind it is what an editor
// leaves in a file.
func (s *signer) key(ctx context.Context) ([]byte, error) {
	value, err := s.secrets.Get(ctx, secretName)
	if err != nil {
		return nil, fmt.Errorf("reading the signing key: %w", err)
	}
	key := []byte(strings.TrimSpace(value.Reveal()))
	if len(key) < minKey {
		return nil, errors.New("the signing key is shorter than 32 bytes")
	}
	return key, nil
}

// signature is the HMAC-SHA-256 of what a link allows, as Base64 for URLs. The parts have no line breaks, so that no
// two links have the same text.
func signature(key []byte, fileID, expires, linkID string) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "download-link-v1\n%s\n%s\n%s\n", fileID, expires, linkID)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
