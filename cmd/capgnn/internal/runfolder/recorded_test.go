package runfolder

import (
	"slices"
	"strings"
	"testing"

	"capgnn/jaca"
)

func TestSlotsRoundTrip(t *testing.T) {
	text := FormatSlots(&jaca.Capacities{Local: []int{7, 0, 12}, Global: 5})
	if got, err := parseSlots(text); err != nil || !slices.Equal(got, []int{7, 0, 12, 5}) {
		t.Errorf("%q: got %v, %v", text, got, err)
	}
	if got, err := parseSlots(""); got != nil || err != nil {
		t.Errorf("none: got %v, %v", got, err)
	}
	for _, bad := range []string{"1,2,3,-4", "1,2,3,x", "1,2,3,4.5", ",,,", "1,2,3,99999999999"} {
		if got, err := parseSlots(bad); err == nil {
			t.Errorf("%q is accepted as %v", bad, got)
		}
	}
}

func TestLinksRoundTrip(t *testing.T) {
	for _, want := range [][]Link{nil, {{1, 1.05}, {2.5, 123456.789}}, {{1, 1}}} {
		text := FormatLinks(want)
		got, err := parseLinks(text)
		if again := FormatLinks(got); err != nil || again != text || len(got) != len(want) {
			t.Errorf("%q: got %v, %v, which is %q", text, got, err, again)
		}
	}
	if got, err := parseLinks(""); got != nil || err != nil {
		t.Errorf("none: got %v, %v", got, err)
	}
	for _, bad := range []string{"1:1,x:1", "1:1,0:1", "1:1,1", "1:1,NaN:1", "1:1,1:Inf", ",", "1:1,", "1:1:1"} {
		if got, err := parseLinks(bad); err == nil {
			t.Errorf("%q is accepted as %v", bad, got)
		}
	}
}

// What a config file records is refused where it does not read, with every other fault.
func TestRecordedFaults(t *testing.T) {
	cfg := Default()
	cfg.Dataset = "d"
	cfg.Set("cache-slots", "1,x")
	cfg.Set("cache-links", "fast")
	err := cfg.Validate()
	for _, want := range []string{`config: cache-slots: "x" is not a number of rows`, `config: cache-links: "fast" is not how much longer`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
