package authorization

// Ask is how clients ask this issuer for a contract's scope.
func (i *Issuer) Ask(scope string) string { return i.ScopePrefix + scope }

// AskAll is Ask for each of the scopes.
func (i *Issuer) AskAll(scopes []string) []string {
	var asked []string
	for _, scope := range scopes {
		asked = append(asked, i.Ask(scope))
	}
	return asked
}

// Find returns the issuer with that URL; nil for one that is not trusted.
func (c *Config) Find(url string) *Issuer {
	for i := range c.Issuers {
		if c.Issuers[i].URL == url {
			return &c.Issuers[i]
		}
	}
	return nil
}

// Fronted is the issuer that the front stands for; nil without a front.
func (c *Config) Fronted() *Issuer {
	if c.Front == nil {
		return nil
	}
	if c.Front.Issuer == "" {
		return &c.Issuers[0]
	}
	return c.Find(c.Front.Issuer)
}

// Expand returns the scopes with those that they imply, each once, those that were granted first.
func (c *Config) Expand(granted []string) []string {
	seen := map[string]bool{}
	var all []string
	queue := granted
	for len(queue) > 0 {
		scope := queue[0]
		queue = queue[1:]
		if seen[scope] {
			continue
		}
		seen[scope] = true
		all = append(all, scope)
		queue = append(queue[:len(queue):len(queue)], c.ScopeHierarchy[scope]...)
	}
	return all
}
