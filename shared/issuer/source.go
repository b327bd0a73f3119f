package issuer

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"patchbay/shared/authorization"
)

const (
	// defaultMaxAge is how old a document may be that is used without asking again. Endpoints hardly ever move.
	defaultMaxAge = time.Hour
	// retryAfter is the pause after a fetch that failed, so that an issuer that is out of order is not asked once more by
	// every caller, nor do they all wait for it.
	retryAfter = 10 * time.Second
	// discoverTime bounds all attempts of one Discover.
	discoverTime = 5 * time.Second
)

// SourceOptions say how a Source works. The zero value is useful.
type SourceOptions struct {
	// MaxAge is how old a document may be; 0 means an hour.
	MaxAge time.Duration
	// Client makes the requests, as Client has it; nil means one of its own.
	Client *http.Client
	// Now is the clock; nil means time.Now. Only its wall time counts: the monotonic clock stands still while Lambda
	// freezes an instance.
	Now func() time.Time
	// Log gets a line for every fetch that failed; nil means slog.Default().
	Log *slog.Logger
}

// Source keeps one issuer's metadata. It is safe for concurrent use; concurrent callers share a fetch.
type Source struct {
	issuer *authorization.Issuer
	SourceOptions

	mu      sync.Mutex
	kept    *Metadata
	fetched time.Time
	// failed is when a fetch last failed, and failure why; zero once one succeeded.
	failed  time.Time
	failure error
}

// NewSource returns a source that has fetched nothing yet.
func NewSource(issuer *authorization.Issuer, options SourceOptions) *Source {
	if options.MaxAge == 0 {
		options.MaxAge = defaultMaxAge
	}
	options.Client = Client(options.Client)
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	return &Source{issuer: issuer, SourceOptions: options}
}

// Metadata returns the issuer's document, which must not be changed. While the issuer does not give it, the one that it
// gave before is returned, however old: what moves is seen once the issuer answers again. An error means that there is
// none.
func (s *Source) Metadata(ctx context.Context) (*Metadata, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now().Round(0)
	if s.kept != nil && within(now, s.fetched, s.MaxAge) {
		return s.kept, nil
	}
	if s.failure == nil || !within(now, s.failed, retryAfter) {
		s.fetch(ctx, now)
	}
	if s.kept != nil {
		return s.kept, nil
	}
	return nil, s.failure
}

// fetch asks the issuer. A caller that gives up does not spoil the answer for the others.
func (s *Source) fetch(ctx context.Context, now time.Time) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), discoverTime)
	defer cancel()
	metadata, err := Discover(bounded, s.Client, s.issuer)
	if err != nil {
		s.failed, s.failure = now, err
		s.Log.WarnContext(ctx, "metadata of an issuer is not to be had", "issuer", s.issuer.URL, "kept", s.kept != nil,
			"error", err)
		return
	}
	s.kept, s.fetched, s.failure = metadata, now, nil
}

// within reports whether at lies at most age back. A time in the future means that the clock was set back since.
func within(now, at time.Time, age time.Duration) bool {
	passed := now.Sub(at)
	return passed >= 0 && passed <= age
}
