package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Bounds that keep HEAD, which every instance reads every few seconds, far below DynamoDB's 400 KB for an item.
const (
	maxSources     = 500
	maxSourceBytes = 256
	maxByBytes     = 64
	maxDisabled    = 1000
	maxSuperseded  = 200
	maxTokens      = 32
	maxHeadBytes   = 380 << 10
)

// headKey is both keys of HEAD.
const headKey = "HEAD"

// head is HEAD. A nil map is an empty one; revision 0 means that the item does not exist yet.
type head struct {
	// Sources maps every source to what it published last.
	Sources map[string]published `json:"sources,omitempty"`
	// Superseded maps snapshots that no source names any more to when that began, in epoch seconds.
	Superseded map[string]int64 `json:"superseded,omitempty"`
	// Disabled are the names of disabled tools, sorted.
	Disabled []string `json:"disabled,omitempty"`
	Settings Settings `json:"settings"`
	// Tokens are those of the last writes of HEAD, oldest first. A writer that did not get its answer looks here for
	// its own, even when others have written since.
	Tokens []string `json:"tokens"`

	revision int64
	raw      string // the stored form of all that is above
}

type published struct {
	Snapshot string `json:"snapshot"`
	Tools    int    `json:"tools"`
	// At is epoch seconds.
	At int64 `json:"at"`
	// By is who within the source publishes; empty where nobody said. Format 2 has it.
	By string `json:"by,omitempty"`
}

// readHead reads HEAD consistently. A table without one has had no publish: that is an empty head, not an error.
func readHead(ctx context.Context, db ReadDB, table string) (*head, error) {
	item, err := getItem(ctx, db, table, headKey, headKey)
	if err != nil {
		return nil, fmt.Errorf("reading HEAD of %s: %w", table, err)
	}
	if item == nil {
		return &head{}, nil
	}
	h, err := decodeHead(item)
	if err != nil {
		return nil, fmt.Errorf("reading HEAD of %s: %w", table, err)
	}
	return h, nil
}

func decodeHead(item item) (*head, error) {
	if err := item.checkVersion(headVersion); err != nil {
		return nil, err
	}
	revision, err := item.number("revision")
	if err != nil {
		return nil, err
	}
	raw, err := item.text("data")
	if err != nil {
		return nil, err
	}
	h := &head{revision: revision, raw: raw}
	if err := json.Unmarshal([]byte(raw), h); err != nil {
		return nil, fmt.Errorf("decoding attribute data: %w", err)
	}
	return h, nil
}

// write puts h, if HEAD is still at the revision that h was read at. The error is a ConditionalCheckFailedException
// when it is not.
func (h *head) write(ctx context.Context, db DB, table string) error {
	data, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encoding HEAD of %s: %w", table, err)
	}
	if len(data) > maxHeadBytes {
		return fmt.Errorf("HEAD of %s would have %d bytes; allowed: %d", table, len(data), maxHeadBytes)
	}
	input := &dynamodb.PutItemInput{
		TableName: aws.String(table),
		Item: newItem(headKey, headKey, h.version()).
			with("revision", number(h.revision+1)).
			with("data", text(string(data))),
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}
	if h.revision != 0 {
		input.ConditionExpression = aws.String("revision = :revision")
		input.ExpressionAttributeValues = map[string]types.AttributeValue{":revision": number(h.revision)}
	}
	if _, err := db.PutItem(ctx, input); err != nil {
		return fmt.Errorf("writing HEAD of %s: %w", table, err)
	}
	h.revision++
	return nil
}

// version is the lowest format that says all that h does: where no source says who publishes, a release that knows only
// format 1 can go on with the table, so that going back to it stays possible.
func (h *head) version() int64 {
	for _, p := range h.Sources {
		if p.By != "" {
			return headVersion
		}
	}
	return 1
}

// sign adds the token of the write to come.
func (h *head) sign(token string) {
	h.Tokens = append(h.Tokens, token)
	h.Tokens = h.Tokens[max(0, len(h.Tokens)-maxTokens):]
}

func (h *head) signed(token string) bool { return slices.Contains(h.Tokens, token) }

// set makes source name a new snapshot.
func (h *head) set(source string, p published) error {
	if _, ok := h.Sources[source]; !ok && len(h.Sources) >= maxSources {
		return fmt.Errorf("publishing %s: there are %d sources; allowed: %d", source, len(h.Sources), maxSources)
	}
	h.remove(source, time.Unix(p.At, 0))
	if h.Sources == nil {
		h.Sources = map[string]published{}
	}
	h.Sources[source] = p
	return nil
}

// remove drops source and records that its snapshot is superseded.
func (h *head) remove(source string, at time.Time) {
	old, ok := h.Sources[source]
	if !ok {
		return
	}
	delete(h.Sources, source)
	if h.Superseded == nil {
		h.Superseded = map[string]int64{}
	}
	h.Superseded[old.Snapshot] = at.Unix()
}

// oldestSuperseded is the snapshot that was superseded first; ok is false unless there are too many.
func (h *head) oldestSuperseded() (id string, at int64, ok bool) {
	if len(h.Superseded) <= maxSuperseded {
		return "", 0, false
	}
	for key, value := range h.Superseded {
		if id == "" || value < at || value == at && key < id {
			id, at = key, value
		}
	}
	return id, at, true
}

// disable changes whether name is disabled and reports whether that was a change.
func (h *head) disable(name string, disabled bool) (changed bool, err error) {
	at, found := slices.BinarySearch(h.Disabled, name)
	if found == disabled {
		return false, nil
	}
	if !disabled {
		h.Disabled = slices.Delete(h.Disabled, at, at+1)
		return true, nil
	}
	if len(h.Disabled) >= maxDisabled {
		return false, fmt.Errorf("disabling %s: %d tools are disabled; allowed: %d", name, len(h.Disabled), maxDisabled)
	}
	h.Disabled = slices.Insert(h.Disabled, at, name)
	return true, nil
}

// names reports whether any source's snapshot is id.
func (h *head) names(id string) bool {
	for _, p := range h.Sources {
		if p.Snapshot == id {
			return true
		}
	}
	return false
}
