package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// climate holds rounded long-term averages of each month. Its columns are named in its first line; zips are the first
// three digits of US ZIP codes, also are other names, conditions has one letter a month (see sky).
//
//go:embed climate.csv
var climate string

// place is a city and its usual weather.
type place struct {
	name, region, code, country string
	also                        []string
	zips                        []span
	months                      [12]month
}

// month is the usual weather of one month.
type month struct {
	temperature int // °C
	humidity    int // percent
	conditions  string
}

// span is a range of ZIP code areas, both ends included.
type span struct{ from, to int }

// String is the place's name as a result shows it.
func (p place) String() string {
	if p.region == "" {
		return p.name + ", " + p.country
	}
	return p.name + ", " + p.region + ", " + p.country
}

// loadPlaces reads the embedded data. It panics where the data is broken, which stops the function when it starts.
func loadPlaces() []place {
	rows, err := csv.NewReader(strings.NewReader(climate)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("reading climate.csv: %v", err))
	}
	places := make([]place, 0, len(rows)-1)
	for _, row := range rows[1:] {
		places = append(places, readPlace(row))
	}
	return places
}

func readPlace(row []string) place {
	p := place{name: row[0], region: row[1], code: row[2], country: row[3]}
	if row[4] != "" {
		p.also = strings.Split(row[4], "|")
	}
	for _, zips := range strings.Fields(row[5]) {
		from, to, isRange := strings.Cut(zips, "-")
		if !isRange {
			to = from
		}
		p.zips = append(p.zips, span{number(from), number(to)})
	}
	temperatures, humidities := strings.Fields(row[6]), strings.Fields(row[7])
	for i := range p.months {
		p.months[i] = month{number(temperatures[i]), number(humidities[i]), sky(row[8][i])}
	}
	return p
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("reading climate.csv: %v", err))
	}
	return n
}

func sky(letter byte) string {
	conditions, ok := map[byte]string{
		's': "mostly sunny",
		'p': "partly cloudy",
		'c': "mostly cloudy",
		'r': "frequent rain",
		't': "thundery showers",
		'f': "frequent fog",
		'w': "frequent snow",
	}[letter]
	if !ok {
		panic(fmt.Sprintf("reading climate.csv: unknown conditions %q", letter))
	}
	return conditions
}
