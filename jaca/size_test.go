package jaca

import (
	"errors"
	"testing"
)

func TestParseSize(t *testing.T) {
	for _, tc := range []struct {
		text string
		want string // of Size.String
		rows int    // of a union of 1000, slots of 3 bytes, memory for 10000
	}{
		{"auto", "auto", 1000}, {"0", "0", 0}, {"250", "250", 250}, {"5000", "5000", 1000},
		{"20%", "20%", 200}, {"12.55%", "12.55%", 125}, {"100%", "100%", 1000}, {"0%", "0%", 0},
		{"100B", "100B", 33}, {"1KiB", "1024B", 341}, {"1.5kB", "1500B", 500}, {"2GiB", "2147483648B", 1000}, {"0.001GB", "1000000B", 1000},
	} {
		s, err := ParseSize(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		n, err := s.rows(1000, 3, 10000)
		if s.String() != tc.want || n != tc.rows || err != nil {
			t.Errorf("%q: %s, %d rows, %v, want %s, %d", tc.text, s, n, err, tc.want, tc.rows)
		}
	}
	for _, bad := range []string{"", "%", "B", "-1", "+1", "1.5", "1e3", "101%", "-2GiB", "GiB", "2 GiB", "Auto", "NaN", "Inf", "0x10", "1_0", "10000TiB", "1..2%", "99999999999999999999"} {
		if s, err := ParseSize(bad); err == nil {
			t.Errorf("%q was read as %s", bad, s)
		}
	}
}

// TestSizeFits: auto takes what fits, all else is refused where it does not.
func TestSizeFits(t *testing.T) {
	if n, err := (Size{}).rows(1000, 3, 70); n != 70 || err != nil {
		t.Errorf("auto: %d, %v", n, err)
	}
	for _, s := range []Size{Rows(71), Percent(8), {sizeBytes, 213}} {
		_, err := s.rows(1000, 3, 70)
		if large := (*TooLarge)(nil); !errors.As(err, &large) || large.Fit != 70 || large.Want < 71 {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"auto", "20%", "2GiB", "1.5MB", "77", "0.3%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSize(text)
		if err != nil {
			return
		}
		again, err := ParseSize(s.String())
		if err != nil || again != s {
			t.Fatalf("%q is %v, its text %q is %v (%v)", text, s, s.String(), again, err)
		}
		if n, err := s.rows(1000, 7, 1000); err != nil || n < 0 || n > 1000 {
			t.Fatalf("%q: %d rows, %v", text, n, err)
		}
	})
}
