package report

import (
	"slices"
	"testing"

	"capgnn/internal/runfile"
)

// What caches did in a finished run stands in words.
func TestCacheFacts(t *testing.T) {
	r := sampleRun(t, 12, true)
	want := []Fact{{"policy", "jaca"}, {"slots in device memory", "10 of 40, 20 of 50 rows"}, {"slots in host memory", "30 of 60 rows"},
		{"a slot on a device", "2.0\u00a0KiB for all exchanges"}, {"lookups", "800: 50.0\u00a0% found in device memory, 12.5\u00a0% in host memory, 37.5\u00a0% missed"}}
	if got := r.cacheFacts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want = []Fact{{"allowed age", "4 epochs"}, {"oldest row used", "4 epochs"}, {"mean age", "1.500 epochs"},
		{"layer 1", "refreshed every 4 epochs"}, {"layer 2", "refreshed every 4 epochs"}}
	if got := r.stalenessFacts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Result.Cache = runfile.RunCache{Capacity: &runfile.Capacity{Local: slices.Repeat([]int{5}, 9), LocalUnion: slices.Repeat([]int{7}, 9)}}
	want = []Fact{{"policy", ""}, {"slots in device memory", "45 of 63 rows on 9 devices"}, {"slots in host memory", "0 of 0 rows"}}
	if got := r.cacheFacts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
