package jaca

import (
	"strings"
	"testing"
)

func TestParseStaleness(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Staleness
	}{
		{"0", Staleness{}}, {"4", Staleness{Bound: 4}}, {"16", Staleness{Bound: 16}}, {"auto", Staleness{Bound: 16, Adaptive: true}},
	} {
		s, err := ParseStaleness(tc.text)
		if err != nil || s != tc.want || s.String() != tc.text || s.Auto() != (tc.text == "auto") {
			t.Errorf("%q: %+v, text %q, %v, want %+v", tc.text, s, s, err, tc.want)
		}
	}
	for _, bad := range []string{"", "-1", "+4", "17", "4.0", "Auto", "auto ", "4,auto", "99999999999999999999"} {
		s, err := ParseStaleness(bad)
		if err == nil {
			t.Errorf("%q was read as %s", bad, s)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than one line: %v", bad, err)
		}
	}
	for _, old := range []string{"auto:", "auto:0.05", "auto:0.05,8", "auto:NaN"} {
		if s, err := ParseStaleness(old); err == nil || !strings.Contains(err.Error(), "--comm auto") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, %v", old, s, err)
		}
	}
}

func FuzzParseStaleness(f *testing.F) {
	for _, s := range []string{"0", "4", "16", "auto", "auto:0.05,8", "17"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStaleness(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: more than one line: %v", text, err)
			}
			return
		}
		again, err := ParseStaleness(s.String())
		if err != nil || again != s {
			t.Fatalf("%q is %+v, its text %q is %+v (%v)", text, s, s.String(), again, err)
		}
		if _, err := NewSchedule(s.Bound, true, 0); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
