package npy

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

var errStop = errors.New("enough")

// Rows of an array are what stands there, whatever lies before and behind them; the last one sees the end of the array.
func TestRow(t *testing.T) {
	const n = chunkBytes/8 + 3
	all := make([]int64, 3*n)
	for i := range all {
		all[i] = int64(i) * 7
	}
	a := opened(t, []int{3, n}, all)
	for i := range 3 {
		row, err := a.Row(i)
		if err != nil {
			t.Fatal(err)
		}
		got, err := row.Int64()
		if err != nil || !slices.Equal(got, all[i*n:(i+1)*n]) {
			t.Errorf("row %d: %d elements, %v", i, len(got), err)
		}
		var pieces []int64
		if err := row.EachInt64(func(k int, v []int64) error { pieces = append(pieces[:k], v...); return nil }); err != nil || !slices.Equal(pieces, got) {
			t.Errorf("row %d in pieces: %d, %v", i, len(pieces), err)
		}
		if got, want := row.Fault(2, errStop).Error(), a.Fault(i*n+2, errStop).Error(); got != want {
			t.Errorf("row %d: fault at %q, want %q", i, got, want)
		}
	}
	for _, i := range []int{-1, 3} {
		if _, err := a.Row(i); err == nil || !strings.Contains(err.Error(), "there is no row") {
			t.Errorf("row %d: %v", i, err)
		}
	}
	if _, err := opened(t, nil, all).Row(0); err == nil {
		t.Error("an array of one dimension has rows")
	}
}
