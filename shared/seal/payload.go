package seal

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"
)

// payload is the sealed JSON of format 1. Any new member makes a new version of the format, since a release that does
// not know it would overlook it; strict decoding holds to that.
type payload struct {
	Kind      Kind             `json:"k"`
	Nonce     string           `json:"n"`
	Key       string           `json:"i,omitempty"`
	Confirmed bool             `json:"ok,omitempty"`
	Asked     map[string]Asked `json:"a,omitempty"`
	Tool      string           `json:"t,omitempty"`
	Contract  []byte           `json:"c"`
	Issued    int64            `json:"iat"`
	Expires   int64            `json:"exp"`
}

func encode(binding Binding, state State, now time.Time) ([]byte, error) {
	if !slices.Contains([]Kind{KindRound, KindConfirmation, KindReceipt}, state.Kind) {
		return nil, fmt.Errorf("kind %q; allowed: %s, %s, %s", state.Kind, KindRound, KindConfirmation, KindReceipt)
	}
	if state.Expires.Unix() <= now.Unix() {
		return nil, fmt.Errorf("it would expire at %v, which is past", state.Expires)
	}
	if !utf8.ValidString(state.Key) || !utf8.ValidString(state.Tool) {
		return nil, errors.New("the key or the tool's state is not UTF-8, so JSON would alter it")
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // every byte counts against MaxBytes
	err := encoder.Encode(payload{
		Kind: state.Kind, Nonce: rand.Text(), Key: state.Key, Confirmed: state.Confirmed, Asked: state.Asked,
		Tool: state.Tool, Contract: binding.Contract, Issued: now.Unix(), Expires: state.Expires.Unix(),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding its content: %w", err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

func decode(data []byte) (payload, error) {
	var p payload
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return payload{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return payload{}, errors.New("there is more than one value")
	}
	return p, nil
}

// judge says what an authentic payload may be used for.
func judge(data []byte, binding Binding, kinds []Kind, now time.Time) (State, error) {
	p, err := decode(data)
	if err != nil || !slices.Contains(kinds, p.Kind) {
		return State{}, ErrUnopenable
	}
	state := State{
		Kind: p.Kind, Nonce: p.Nonce, Key: p.Key, Confirmed: p.Confirmed, Asked: p.Asked, Tool: p.Tool,
		Issued: time.Unix(p.Issued, 0).UTC(), Expires: time.Unix(p.Expires, 0).UTC(),
	}
	if now.Unix() >= p.Expires {
		return state, ErrExpired
	}
	if subtle.ConstantTimeCompare(p.Contract, binding.Contract) == 0 {
		return state, ErrContractChanged
	}
	return state, nil
}
