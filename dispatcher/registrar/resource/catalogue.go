package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

// S3 is what the registrar uses of *s3.Client.
type S3 interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

const (
	// catalogueVersion is the format of the file in S3.
	catalogueVersion = 1
	// maxCatalogueBytes bounds that file: the registrar has 256 MB, in which the file is there as text, decoded, and as
	// the contracts that are made of it.
	maxCatalogueBytes = 16 << 20
)

// catalogue is the file that a deployment puts into S3.
type catalogue struct {
	FormatVersion int             `json:"formatVersion"`
	Tools         []catalogueTool `json:"tools"`
}

type catalogueTool struct {
	// Contract is the text of a tool.json, and File what it is called in messages.
	Contract string `json:"contract"`
	File     string `json:"file"`
}

// read returns the tools that properties name. The error lists everything that is wrong with their contracts, as the
// lint does.
func (h *Handler) read(ctx context.Context, log *slog.Logger, p *properties) ([]registry.Publication, error) {
	if p.catalogue == nil {
		return readInline(log, p.tools)
	}
	data, err := h.fetch(ctx, *p.catalogue)
	if err != nil {
		return nil, err
	}
	file, err := decodeCatalogue(data)
	if err != nil {
		return nil, fmt.Errorf("reading the catalogue %s: %w", p.catalogue, err)
	}
	b := binder{log: log}
	unbound := maps.Clone(p.functions)
	for _, t := range file.Tools {
		tool := b.parse(t.File, t.Contract)
		if tool == nil {
			continue
		}
		b.bind(tool, p.functions[tool.Name], "Functions."+tool.Name)
		delete(unbound, tool.Name)
	}
	// A contract with errors gives no name, and its function would look like one without a tool.
	if b.err() == nil {
		for _, name := range slices.Sorted(maps.Keys(unbound)) {
			b.fault("property Functions.%s: the catalogue %s has no tool of that name", name, p.catalogue)
		}
	}
	return b.publications, b.err()
}

func readInline(log *slog.Logger, tools []inlineTool) ([]registry.Publication, error) {
	b := binder{log: log}
	for i, t := range tools {
		property := fmt.Sprintf("Tools[%d]", i)
		if tool := b.parse(property+".Contract", t.contract); tool != nil {
			b.bind(tool, t.function, property+".Function")
		}
	}
	return b.publications, b.err()
}

func (h *Handler) fetch(ctx context.Context, at location) ([]byte, error) {
	// A bucket's name is anybody's to take once it is free, and a template may name any.
	account := ownPlace(ctx).account
	if account == "" {
		return nil, fmt.Errorf("reading the catalogue %s: Lambda does not say which account the registrar is in", at)
	}
	out, err := h.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &at.bucket, Key: &at.key, ExpectedBucketOwner: &account})
	if err != nil {
		return nil, fmt.Errorf("reading the catalogue %s, which must be in a bucket of account %s: %w", at, account, err)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(io.LimitReader(out.Body, maxCatalogueBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the catalogue %s: %w", at, err)
	}
	if len(data) > maxCatalogueBytes {
		return nil, fmt.Errorf("reading the catalogue %s: it has more than %d bytes; publish from several stacks", at,
			maxCatalogueBytes)
	}
	return data, nil
}

// decodeCatalogue reads the file strictly: what an older registrar does not know it must not drop.
func decodeCatalogue(data []byte) (*catalogue, error) {
	var version struct {
		FormatVersion int `json:"formatVersion"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("it is not JSON of a catalogue: %w", err)
	}
	if version.FormatVersion != catalogueVersion {
		return nil, fmt.Errorf("it has format %d, and this release of the registrar reads format %d: update the server first",
			version.FormatVersion, catalogueVersion)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var file catalogue
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("it is not JSON of a catalogue: %w", err)
	}
	return &file, nil
}

// binder puts contracts and functions together and collects what is wrong.
type binder struct {
	log *slog.Logger
	// standIn is Options.StandIn.
	standIn      func(contract.Function) string
	publications []registry.Publication
	faults       []string
}

func (b *binder) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

func (b *binder) err() error {
	if len(b.faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(b.faults, "\n"))
}

// parse reads a contract; nil when it has errors. Its warnings are logged.
func (b *binder) parse(file, text string) *contract.Tool {
	tool, problems := contract.Parse(file, []byte(text))
	for _, warning := range problems.Warnings() {
		b.log.Warn("contract", "problem", warning.String())
	}
	for _, problem := range problems.Errors() {
		b.fault("%s", problem)
	}
	return tool
}

// bind gives a tool its function: the one in the properties, or the existing one that its contract names.
func (b *binder) bind(tool *contract.Tool, function, property string) {
	named := tool.Contract.Function.ARN
	if _, local := tool.Contract.Function.Local(); local {
		named = ""
	}
	if b.standIn != nil && tool.Contract.Function.ARN != "" {
		named = b.standIn(tool.Contract.Function)
	}
	switch {
	case function == "" && named == "":
		b.fault("tool %s (%s): property %s is missing; it must be the function's ARN with a version or an alias",
			tool.Name, tool.File, property)
		return
	case function == "":
		function = named
	case named != "" && named != function:
		b.fault("tool %s (%s): property %s is %s, but the contract names %s", tool.Name, tool.File, property, function, named)
		return
	}
	b.publications = append(b.publications, registry.Publication{Tool: tool, Function: function})
}

// liveAs returns the snapshot by which the stack serves exactly these tools already; empty where it does not.
func (h *Handler) liveAs(ctx context.Context, source string, tools []registry.Publication) (string, error) {
	live, snapshot, err := h.publisher.Live(ctx, source)
	if err != nil {
		return "", err
	}
	was, err := byName(live)
	if err != nil {
		return "", err
	}
	is, err := byName(tools)
	if err != nil {
		return "", err
	}
	if len(tools) == 0 || len(is) != len(tools) || !maps.Equal(was, is) {
		return "", nil
	}
	return snapshot, nil
}

// byName maps each tool to all that is published of it.
func byName(tools []registry.Publication) (map[string]string, error) {
	all := make(map[string]string, len(tools))
	for _, p := range tools {
		stored, err := json.Marshal(p.Tool.Contract)
		if err != nil {
			return nil, fmt.Errorf("comparing tool %s: %w", p.Tool.Name, err)
		}
		all[p.Tool.Name] = p.Function + "\n" + string(p.Tool.Definition) + "\n" + string(stored)
	}
	return all, nil
}
