package training

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/learn"
)

// A cached order is used, and a damaged one is made again with a note.
func TestRanksAreCached(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	g, _, err := synth.Blocks(400, 4, 6, 0.8, 1)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	tr := New(&term.Console{Out: &log, Err: &log}, "", runfolder.Default())
	tr.Data = &datasets.Input{Problem: &learn.Problem{Graph: g}}
	first, err := ranksOf(context.Background(), &tr.Forecaster)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "capgnn", "rank-*.npy"))
	if err != nil || len(files) != 1 {
		t.Fatalf("cached: %v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	swapped := slices.Clone(first) // another order: a mark that only the cached file has
	swapped[0], swapped[1] = swapped[1], swapped[0]
	raw := hostmem.Bytes(swapped)
	marked := slices.Concat(whole[:len(whole)-len(raw)], raw)
	repeated := slices.Clone(marked)
	copy(repeated[len(repeated)-4:], repeated[len(repeated)-8:])
	for _, tc := range []struct {
		name string
		file []byte
		want []int32
		note bool
	}{
		{"whole", marked, swapped, false},
		{"truncated", whole[:len(whole)-9], first, true},
		{"twice the same rank", repeated, first, true},
		{"junk", []byte("junk"), first, true},
	} {
		log.Reset()
		if err := os.WriteFile(files[0], tc.file, 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := ranksOf(context.Background(), &tr.Forecaster)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, or not the order that was wanted", tc.name, err)
		}
		if noted := strings.Contains(log.String(), files[0]); noted != tc.note {
			t.Errorf("%s: said %q", tc.name, log.String())
		}
	}
}

// The sample of an order holds rows of the graph under their places in it.
func TestSampleRows(t *testing.T) {
	g, _, err := synth.Blocks(300, 3, 6, 0.8, 1)
	if err != nil {
		t.Fatal(err)
	}
	rank := make([]int32, g.Rows())
	for v := range rank {
		rank[v] = int32(v * 7 % len(rank)) // a permutation: 7 and 300 have no common factor
	}
	s := sampleRows(g, rank)
	if len(s.Indptr) != g.Rows()+1 || len(s.Indices) != len(g.Indices) {
		t.Fatalf("%d rows and %d entries, want all %d and %d of a small graph", len(s.Indptr)-1, len(s.Indices), g.Rows(), len(g.Indices))
	}
	for v := range g.Rows() {
		r := rank[v]
		row := s.Indices[s.Indptr[r]:s.Indptr[r+1]]
		var want []int32
		for _, u := range g.Row(v) {
			want = append(want, rank[u])
		}
		slices.Sort(want)
		if !slices.Equal(row, want) {
			t.Fatalf("row %d is %v, want %v", r, row, want)
		}
	}
}
