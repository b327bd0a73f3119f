package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"patchbay/shared/nearest"
	"patchbay/shared/tool"
)

// zipCode is a US ZIP code; the first three digits are its area.
var zipCode = regexp.MustCompile(`^([0-9]{3})[0-9]{2}(-[0-9]{4})?$`)

// find returns the place that a caller means by a name, with or without a state or country, or by a ZIP code.
func find(places []place, location string) (place, error) {
	if digits := zipCode.FindStringSubmatch(strings.TrimSpace(location)); digits != nil {
		return findZIP(places, location, number(digits[1]))
	}
	name, area, _ := strings.Cut(location, ",")
	named := matching(places, func(p place) bool { return p.isNamed(name) })
	if len(named) == 0 {
		// "Washington D.C." and "New York City" have their state in their name.
		named = matching(places, func(p place) bool { return p.isNamed(strings.ReplaceAll(location, ",", "")) })
		area = ""
	}
	if len(named) == 0 {
		return place{}, unknown(places, location, name)
	}
	for _, p := range named {
		if p.isIn(area) {
			return p, nil
		}
	}
	return place{}, tool.Fail("unknown_location", "There is no %s here, only %s. Give the name of another large city "+
		"nearby.", location, named[0])
}

func findZIP(places []place, location string, area int) (place, error) {
	for _, p := range places {
		for _, zips := range p.zips {
			if zips.from <= area && area <= zips.to {
				return p, nil
			}
		}
	}
	american := matching(places, func(p place) bool { return p.zips != nil })
	return place{}, tool.Fail("unknown_location", "ZIP code %s is in none of the US cities known here: %s. "+
		"Give the nearest of them by name.", location, list(american))
}

// unknown says that there is no such place, with the names that are spelled much like it, or else all of them.
func unknown(places []place, location, name string) error {
	near := matching(places, func(p place) bool { return p.resembles(name) })
	if len(near) > 0 {
		return tool.Fail("unknown_location", "No place named %q is known here. Did you mean %s?", location, list(near))
	}
	return tool.Fail("unknown_location", "No place named %q is known here. Known are: %s. Give the one that is "+
		"nearest or has a similar climate, and say that you did.", location, list(places))
}

func matching(places []place, want func(place) bool) []place {
	return slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !want(p) })
}

func list(places []place) string {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}

func (p place) names() []string { return append([]string{p.name}, p.also...) }

func (p place) isNamed(name string) bool {
	return slices.ContainsFunc(p.names(), func(own string) bool { return fold(own) == fold(name) })
}

// isIn reports whether the words behind the city's name, if there are any, name its state or country.
func (p place) isIn(area string) bool {
	for part := range strings.SplitSeq(area, ",") {
		if part = fold(part); part == "" {
			continue
		}
		if full, ok := countries[part]; ok {
			part = full
		}
		if part != fold(p.region) && part != fold(p.code) && part != fold(p.country) {
			return false
		}
	}
	return true
}

// countries are other names of countries.
var countries = map[string]string{
	"usa": "united states", "us": "united states", "america": "united states",
	"united states of america": "united states", "uk": "united kingdom", "england": "united kingdom",
	"great britain": "united kingdom", "uae": "united arab emirates", "korea": "south korea",
}

// resembles reports whether a name is a part of the place's name, or is off by a letter in four.
func (p place) resembles(name string) bool {
	name = fold(name)
	letters := utf8.RuneCountInString(name)
	return slices.ContainsFunc(p.names(), func(own string) bool {
		own = fold(own)
		ownLetters := utf8.RuneCountInString(own)
		return letters >= 3 && strings.Contains(own, name) || nearest.Within(own, name, max(ownLetters, letters)/4)
	})
}

// fold makes names comparable: in lower case, without dots and with single spaces.
func fold(name string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(name), ".", "")), " ")
}
