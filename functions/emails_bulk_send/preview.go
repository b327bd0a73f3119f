package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"patchbay/functions/internal/mail"
	"patchbay/shared/principal"
)

const (
	// maxSamples is how many messages a preview shows.
	maxSamples = 3
	// maxPreviewText is how many characters of a message a sample shows.
	maxPreviewText = 160
	// connecting and perMessage are what a real call takes with a mail relay of one's own network.
	connecting = 200 * time.Millisecond
	perMessage = 40 * time.Millisecond
)

// permissions are those that tool.json asks for.
func permissions() []string { return []string{"emails:bulk"} }

// Preview is what a dry run tells beside the number of recipients.
type Preview struct {
	SampleMessages      []Sample `json:"sampleMessages"`
	MissingPermissions  []string `json:"missingPermissions"`
	ExpectedSideEffects []string `json:"expectedSideEffects"`
	EstimatedDurationMs int64    `json:"estimatedDurationMs"`
}

// Sample is one message in short.
type Sample struct {
	To          string `json:"to"`
	Subject     string `json:"subject"`
	PreviewText string `json:"previewText"`
}

// preview says what a real call would do.
func (p plan) preview(from mail.Address, caller principal.Principal) *Preview {
	preview := &Preview{
		SampleMessages:      []Sample{},
		MissingPermissions:  append([]string{}, caller.Missing(permissions())...),
		ExpectedSideEffects: []string{},
	}
	for _, l := range p.letters[:min(len(p.letters), maxSamples)] {
		sample := Sample{To: l.to.String(), Subject: p.template.Subject, PreviewText: shorten(l.text)}
		preview.SampleMessages = append(preview.SampleMessages, sample)
	}
	if count := len(p.letters); count > 0 {
		preview.EstimatedDurationMs = (connecting + time.Duration(count)*perMessage).Milliseconds()
		preview.ExpectedSideEffects = append(preview.ExpectedSideEffects,
			fmt.Sprintf("Sends %d e-mails from %s with the subject %q, one to each recipient; they cannot be taken back.",
				count, from, p.template.Subject),
			"Another real call, after another dry run and confirmation, sends all of them again.")
	}
	return preview
}

// shorten puts a text on one line and cuts it between words.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= maxPreviewText {
		return text
	}
	cut := string([]rune(text)[:maxPreviewText])
	if space := strings.LastIndexByte(cut, ' '); space > 0 {
		cut = cut[:space]
	}
	return cut + " …"
}
