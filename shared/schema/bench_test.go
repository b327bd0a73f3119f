package schema_test

import (
	"testing"

	"patchbay/shared/schema"
)

const benchSchema = `{"type":"object","properties":{"location":{"type":"string","minLength":1},
	"units":{"enum":["metric","imperial"]},"days":{"type":"integer","minimum":1,"maximum":14}},
	"required":["location"],"additionalProperties":false}`

func benchmarkCheck(b *testing.B, text, value string) {
	s := compile(b, text)
	instance := []byte(value)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Check(instance)
	}
}

func BenchmarkCheck(b *testing.B) {
	benchmarkCheck(b, benchSchema, `{"location":"Utrecht","units":"metric","days":3}`)
}

func BenchmarkCheckInvalid(b *testing.B) {
	benchmarkCheck(b, benchSchema, `{"location":"","units":"kelvin","days":30}`)
}

func BenchmarkCheckDefaults(b *testing.B) {
	benchmarkCheck(b, `{"type":"object","properties":{"location":{"type":"string"},
		"units":{"enum":["metric","imperial"],"default":"metric"},"days":{"type":"integer","default":1}}}`,
		`{"location":"Utrecht"}`)
}

func BenchmarkCheckRecursive(b *testing.B) {
	benchmarkCheck(b, `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},
		"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}}}}}`,
		`{"v":1,"kids":[{"v":2,"kids":[]},{"v":3,"kids":[{"v":4}]}]}`)
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Compile([]byte(benchSchema), schema.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
