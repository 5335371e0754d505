package profiler

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// What was measured of lines is rounded to 5 %, written and read; a part of the pairs, or impossible ones, are refused.
func TestNetOfProfile(t *testing.T) {
	for _, x := range []float64{1, 1.02, 123456789, 1e-6, 3e11} {
		if got := rounded(x); math.Abs(got/x-1) > 0.026 || rounded(got) != got {
			t.Errorf("%g is rounded to %g", x, got)
		}
	}
	a, b := NewNetPair(0, 1, 119.5e6, 57e-6), NewNetPair(0, 1, 119.6e6, 58e-6)
	if a != b {
		t.Errorf("%v and %v of measurements that hardly differ", a, b)
	}
	back := NewNetPair(1, 0, 119.5e6, 57e-6)
	p := sample(t)
	p.Net = []NetPair{a, back}
	path := filepath.Join(t.TempDir(), "p.json")
	if err := p.Write(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || !reflect.DeepEqual(got.Net, p.Net) {
		t.Errorf("read %+v, %v", got, err)
	}
	for want, net := range map[string][]NetPair{
		"1 pairs are not those":           {a},
		"want 1 to 0":                     {a, a},
		"0 bytes/s or 1 s are impossible": {{0, 1, 0, 1}, back},
		"1 bytes/s or 0 s are impossible": {{0, 1, 1, 0}, back},
	} {
		p.Net = net
		if err := p.Write(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", net, err, want)
		}
	}
}
