package settings

import (
	"encoding/json"
	"fmt"

	"patchbay/shared/authorization"
)

// callers is what one layer of settings says of who may call.
type callers struct {
	Anonymous     *bool           `json:"anonymous"`
	Authorization json.RawMessage `json:"authorization"`
}

// readCallers decides who may call: what the stage says of it replaces what the defaults say.
func (s *Stage) readCallers(defaults, own json.RawMessage) error {
	var chosen json.RawMessage
	for _, layer := range []struct {
		place string
		text  json.RawMessage
	}{{"defaults", defaults}, {"stages." + s.Name, own}} {
		said, err := parseCallers(layer.place, layer.text)
		if err != nil {
			return err
		}
		switch {
		case said.Authorization != nil:
			chosen, s.Anonymous = said.Authorization, false
		case said.Anonymous != nil && *said.Anonymous:
			chosen, s.Anonymous = nil, true
		case said.Anonymous != nil:
			s.Anonymous = false
		}
	}
	if chosen == nil {
		return nil
	}
	config, err := authorization.Parse(chosen)
	if err != nil {
		return fmt.Errorf("stage %s: %w", s.Name, err)
	}
	s.Authorization = config
	return nil
}

func parseCallers(place string, layer json.RawMessage) (said callers, err error) {
	if len(layer) == 0 {
		return said, nil
	}
	if err := json.Unmarshal(layer, &said); err != nil {
		return said, fmt.Errorf("decoding who may call: %w", err)
	}
	if said.Authorization != nil && said.Anonymous != nil && *said.Anonymous {
		return said, fmt.Errorf("%s has both \"anonymous\": true and \"authorization\"; allowed: one of them, either "+
			"everybody or whoever has a token", place)
	}
	return said, nil
}
