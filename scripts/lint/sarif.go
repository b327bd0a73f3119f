package lint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"patchbay/scripts/printable"
	"patchbay/shared/contract"
)

// srcRoot is the name that readers of SARIF give to the root of what was analyzed.
const srcRoot = "%SRCROOT%"

// WriteSARIF writes the report in the Static Analysis Results Interchange Format 2.1.0, which code reviews and editors
// show. Files are named from the folder of From, which is then to be the repository's root; version is Patchbay's.
func (r Report) WriteSARIF(w io.Writer, version string) error {
	var text bytes.Buffer
	if err := r.sarif(version).PrettyWrite(&text); err != nil {
		return fmt.Errorf("encoding SARIF: %w", err)
	}
	text.WriteByte('\n')
	if _, err := w.Write(printable.JSON(text.Bytes())); err != nil {
		return fmt.Errorf("writing SARIF: %w", err)
	}
	return nil
}

func (r Report) sarif(version string) *sarif.Report {
	driver := sarif.NewToolComponent().WithName("patchbay").WithSemanticVersion(version)
	index := map[string]int{}
	for i, rule := range Rules() {
		driver.AddRule(rule.sarif())
		index[rule.ID] = i
	}
	run := sarif.NewRun().WithTool(sarif.NewTool().WithDriver(driver)).WithColumnKind("unicodeCodePoints")
	for _, f := range r.Findings {
		run.AddResult(f.sarif().WithRuleIndex(index[f.ID]))
	}
	return sarif.NewReport().AddRun(run)
}

func (r Rule) sarif() *sarif.ReportingDescriptor {
	descriptor := sarif.NewReportingDescriptor().WithID(r.ID).
		WithShortDescription(multiformat(r.What)).
		WithFullDescription(multiformat(r.Why)).
		WithHelp(multiformat(r.help(false)).WithMarkdown(r.help(true))).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(level(r.Severity)))
	if uri := sourceURI(r.Source); uri != "" {
		descriptor.WithHelpURI(uri)
	}
	return descriptor
}

func multiformat(text string) *sarif.MultiformatMessageString {
	return sarif.NewMultiformatMessageString().WithText(text)
}

// help is the rule in full, as text or as Markdown.
func (r Rule) help(markdown bool) string {
	in := ""
	if r.Place != "" {
		in = " (in " + r.Place + ")"
	}
	example := func(text string) string {
		if markdown {
			return "```\n" + text + "\n```"
		}
		return text
	}
	return strings.Join([]string{r.What + " " + r.Why, "Source: " + r.Source, "Wrong" + in + ":", example(r.Wrong),
		"Right" + in + ":", example(r.Right)}, "\n\n")
}

func level(severity contract.Severity) string {
	if severity == contract.SeverityError {
		return "error"
	}
	return "warning"
}

func (f Finding) sarif() *sarif.Result {
	text := f.Message
	if f.Allowed != "" {
		text += "; allowed: " + f.Allowed
	}
	result := sarif.NewResult().WithRuleID(f.ID).WithLevel(level(f.Severity)).
		WithMessage(sarif.NewTextMessage(text)).
		AddLocation(location(f.File, f.Pointer, f.start())).
		WithPartialFingerprints(map[string]string{"patchbayProblem/v1": f.fingerprint()})
	if f.Related != "" {
		other := location(f.Related, f.Pointer, f.RelatedRegion)
		result.AddRelatedLocation(other.WithMessage(sarif.NewTextMessage("the other tool")))
	}
	if f.Suppressed != "" {
		result.AddSuppression(sarif.NewSuppression().WithKind("inSource").WithStatus("accepted").
			WithJustification(f.Suppressed))
	}
	return result
}

// start is the region of the finding; that of a fault in the syntax is known by its beginning alone.
func (f Finding) start() contract.Region {
	if f.Region != (contract.Region{}) {
		return f.Region
	}
	return contract.Region{Line: f.Line, Column: f.Column}
}

// fingerprint is what a finding keeps when lines above it come and go.
func (f Finding) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.File, f.ID, f.Pointer, f.Message}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// location gives a place in a file, and the value there by its JSON Pointer. Code reviews show only what has a line, so
// what is of the whole file is at its first one.
func location(file, pointer string, at contract.Region) *sarif.Location {
	region := sarif.NewRegion().WithStartLine(max(at.Line, 1))
	if at.Column > 0 {
		region.WithStartColumn(at.Column)
	}
	if at.EndLine > 0 {
		region.WithEndLine(at.EndLine).WithEndColumn(at.EndColumn)
	}
	physical := sarif.NewPhysicalLocation().WithArtifactLocation(artifact(file)).WithRegion(region)
	where := sarif.NewLocation().WithPhysicalLocation(physical)
	if pointer != "" {
		where.AddLogicalLocation(sarif.NewLogicalLocation().WithFullyQualifiedName(pointer).WithName(lastToken(pointer)).
			WithKind("property"))
	}
	return where
}

func artifact(file string) *sarif.ArtifactLocation {
	if path.IsAbs(file) {
		return sarif.NewArtifactLocation().WithURI((&url.URL{Scheme: "file", Path: file}).String())
	}
	return sarif.NewArtifactLocation().WithURI((&url.URL{Path: file}).String()).WithURIBaseID(srcRoot)
}

func lastToken(pointer string) string {
	token := pointer[strings.LastIndexByte(pointer, '/')+1:]
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

var (
	webAddress = regexp.MustCompile(`https://[^\s;,]+`)
	specPage   = regexp.MustCompile(`^(basic|server|client)/[^\s;,]+`)
)

// sourceURI is the address of a rule's source: the first that it names, or that of a page of the specification; "" when
// it is none on the web.
func sourceURI(source string) string {
	if address := webAddress.FindString(source); address != "" {
		return address
	}
	if page := specPage.FindString(source); page != "" {
		return "https://modelcontextprotocol.io/specification/2026-07-28/" + page
	}
	return ""
}
