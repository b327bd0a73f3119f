// Get_weather is a tool that tells the usual weather of a city in the current month.
package main

import (
	"context"
	"time"

	"patchbay/shared/tool"
)

// Input is the place that is asked for.
type Input struct {
	Location string `json:"location"`
}

// Output is the usual weather of a place.
type Output struct {
	Location    string `json:"location"`
	Month       string `json:"month"`
	Temperature int    `json:"temperature"` // °C
	Conditions  string `json:"conditions"`
	Humidity    int    `json:"humidity"` // percent
	Basis       string `json:"basis"`
}

func main() { tool.Serve(weather(loadPlaces(), time.Now)) }

// weather makes the handler from its data and its clock.
func weather(places []place, now func() time.Time) func(context.Context, Input) (Output, error) {
	return func(_ context.Context, in Input) (Output, error) {
		found, err := find(places, in.Location)
		if err != nil {
			return Output{}, err
		}
		month := now().UTC().Month()
		usual := found.months[month-1]
		return Output{
			Location:    found.String(),
			Month:       month.String(),
			Temperature: usual.temperature,
			Conditions:  usual.conditions,
			Humidity:    usual.humidity,
			Basis:       "Usual weather of the month from long-term averages; not a live report.",
		}, nil
	}
}
