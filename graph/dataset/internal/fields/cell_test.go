package fields

import (
	"slices"
	"testing"
)

// Names of classes that may stand for none.
func TestDoubtful(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"NUL", "(none)", "<unknown>", "Not Available", "no_label", "[N/A]", "?"}, []string{"NUL", "(none)", "<unknown>", "Not Available", "no_label", "[N/A]", "?"}},
		{[]string{"nullable", "unknown soldier", "[]", "other", "A-", "(a)"}, nil},
		{[]string{"a", "99"}, []string{"99"}},
		{[]string{"a", "b", "99", "-999.0"}, []string{"99", "-999.0"}},
		{[]string{"1", "2", "3a"}, nil},
		{[]string{"007", "?"}, []string{"?"}},
	} {
		if got := Doubtful(c.names); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.names, got, c.want)
		}
	}
}

// What fields of tables mean.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		field           string
		number, whole   bool
		unknown, isTrue bool
	}{
		{"1", true, true, false, true}, {"-2.5e3", true, true, false, false}, {"3.0", true, true, false, false}, {"0.5", true, false, false, false},
		{"1.0", true, true, false, true}, {"20_29", false, false, false, false}, {"0x1F", false, false, false, false}, {"inf", false, false, false, false},
		{"1e999", false, false, false, false}, {"", false, false, true, false}, {"NaN", false, false, true, false}, {"N/A", false, false, true, false},
		{"None", false, false, true, false}, {`\N`, false, false, true, false}, {"TRUE", false, false, false, true}, {"1,5", false, false, false, false},
		{"#N/A N/A", false, false, true, false}, {"-1.#IND", false, false, true, false}, {"#NA", false, false, true, false}, {"NUL", false, false, false, false},
		{"e", false, false, false, false}, {"-", false, false, false, false}, {"<NA>", false, false, true, false},
	} {
		_, number := Number(c.field)
		_, whole := Whole(c.field)
		yes, _ := Truth(c.field)
		if number != c.number || whole != c.whole || Unknown(c.field) != c.unknown || yes != c.isTrue {
			t.Errorf("%q: number %v, whole %v, unknown %v, true %v; want %v, %v, %v, %v", c.field, number, whole, Unknown(c.field), yes, c.number, c.whole, c.unknown, c.isTrue)
		}
	}
}
