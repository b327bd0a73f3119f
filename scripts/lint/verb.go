package lint

// NameVerb is what a tool's name says that the tool does; the zero value where it has no verb that is known here.
type NameVerb struct {
	// Word is the verb, in small letters.
	Word string
	// Reads says that things stay as they are. Changes says that something is made, changed, sent or removed; Destroys,
	// beside it, that something is removed or replaced.
	Reads, Changes, Destroys bool
}

// VerbOf reads a tool's name as the rules of this package do: words are told apart by case, and by everything that is
// no letter or digit; the first that is a known verb counts.
func VerbOf(name string) NameVerb {
	kind, word := verbOf(name)
	return NameVerb{
		Word: word, Reads: kind == verbReading, Changes: kind == verbChanging || kind == verbDestroying,
		Destroys: kind == verbDestroying,
	}
}

// Words splits a name as VerbOf does, in small letters.
func Words(name string) []string { return splitWords(name) }
