package toolcall

import "encoding/json"

// capabilities is a ClientCapabilities object as far as input requests need one: a capability, and its parts.
// Source: basic/index#meta; client/elicitation#capabilities, client/sampling#capabilities.
type capabilities map[string]map[string]struct{}

// need adds a capability, or a part of one.
func (c capabilities) need(name, part string) {
	if c[name] == nil {
		c[name] = map[string]struct{}{}
	}
	if part != "" {
		c[name][part] = struct{}{}
	}
}

// missingFrom returns those that a client's declaration lacks, as the object for data.requiredCapabilities; nil when it
// has them all.
func (c capabilities) missingFrom(declared json.RawMessage) map[string]any {
	var client map[string]map[string]json.RawMessage
	if json.Unmarshal(declared, &client) != nil {
		client = leniently(declared)
	}
	var missing map[string]any
	for name, parts := range c {
		has, known := client[name]
		// An empty elicitation capability means forms (client/elicitation#capabilities).
		onlyForms := name == "elicitation" && known && len(has) == 0
		lacking := map[string]any{}
		for part := range parts {
			if _, declared := has[part]; !declared && !(onlyForms && part == "form") {
				lacking[part] = map[string]any{}
			}
		}
		if known && len(lacking) == 0 {
			continue
		}
		if missing == nil {
			missing = map[string]any{}
		}
		missing[name] = lacking
	}
	return missing
}

// leniently reads a declaration some of whose capabilities have parts of another form than an object.
func leniently(declared json.RawMessage) map[string]map[string]json.RawMessage {
	var client map[string]json.RawMessage
	if json.Unmarshal(declared, &client) != nil {
		return nil
	}
	read := map[string]map[string]json.RawMessage{}
	for name, value := range client {
		var parts map[string]json.RawMessage
		if json.Unmarshal(value, &parts) == nil && parts != nil {
			read[name] = parts
		}
	}
	return read
}
