// Shipping_quote is a Lambda function as a shop may have had it for years: it gets an event, returns a value, and knows
// nothing of tools or of the protocol that now calls it.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

// Event is the parcel to be sent.
type Event struct {
	WeightKG    float64 `json:"weight_kg"`
	Destination string  `json:"destination"`
}

// Quote is the price and the time of a delivery.
type Quote struct {
	Price    float64 `json:"price"`
	Currency string  `json:"currency"`
	Days     int     `json:"days"`
}

// zone is a group of countries with the same prices.
type zone struct {
	base, perKG float64 // EUR
	days        int
}

func main() { lambda.Start(quote) }

func quote(_ context.Context, event Event) (Quote, error) {
	log.Printf("quote for %q, trace %s", event.Destination, os.Getenv("_X_AMZN_TRACE_ID"))
	zone, err := zoneOf(event.Destination)
	if err != nil {
		return Quote{}, err
	}
	price := zone.base + zone.perKG*math.Ceil(event.WeightKG)
	return Quote{Price: math.Round(price*100) / 100, Currency: "EUR", Days: zone.days}, nil
}

func zoneOf(country string) (zone, error) {
	switch country {
	case "NL":
		return zone{base: 4.95, perKG: 0.5, days: 1}, nil
	case "AT", "BE", "DE", "ES", "FR", "IT":
		return zone{base: 8.95, perKG: 0.9, days: 3}, nil
	case "CH", "GB":
		return zone{base: 13.5, perKG: 1.8, days: 4}, nil
	case "CA", "JP", "US":
		return zone{base: 21, perKG: 5.25, days: 8}, nil
	}
	return zone{}, fmt.Errorf("no carrier delivers to %q", country)
}
