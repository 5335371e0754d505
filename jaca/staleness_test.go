package jaca

import (
	"strings"
	"testing"
)

func TestParseStaleness(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Staleness
		back string
	}{
		{"0", Staleness{}, "0"}, {"4", Staleness{Bound: 4}, "4"}, {"16", Staleness{Bound: 16}, "16"},
		{"auto:0.05", Staleness{Bound: 16, EPS: 0.05}, "auto:0.05"}, {"auto:0.05,16", Staleness{Bound: 16, EPS: 0.05}, "auto:0.05"},
		{"auto:.1,8", Staleness{Bound: 8, EPS: 0.1}, "auto:0.1,8"}, {"auto:2,1", Staleness{Bound: 1, EPS: 2}, "auto:2,1"},
	} {
		s, err := ParseStaleness(tc.text)
		if err != nil || s != tc.want || s.String() != tc.back || s.Auto() != strings.HasPrefix(tc.text, "auto") {
			t.Errorf("%q: %+v, text %q, %v, want %+v, %q", tc.text, s, s, err, tc.want, tc.back)
		}
	}
	for _, bad := range []string{"", "-1", "+4", "17", "4.0", "auto", "auto:", "auto:0", "auto:-0.1", "auto:NaN", "auto:Inf", "auto:1e-3",
		"auto:0.05,", "auto:0.05,0", "auto:0.05,17", "auto:0.05,4,4", "auto:,4", "Auto:0.05", "auto:0.05, 4", "4,auto", "auto:0x1p-4", "99999999999999999999"} {
		s, err := ParseStaleness(bad)
		if err == nil {
			t.Errorf("%q was read as %s", bad, s)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than one line: %v", bad, err)
		}
	}
}

func FuzzParseStaleness(f *testing.F) {
	for _, s := range []string{"0", "4", "16", "auto:0.05", "auto:0.05,8", "auto:.5,", "17"} {
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
		if !s.Auto() {
			if _, err := NewSchedule(s.Bound, true, 0); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		} else if _, err := NewController(s.EPS, s.Bound, true, []int{1}); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
