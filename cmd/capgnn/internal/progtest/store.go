package progtest

import (
	"capgnn/internal/npy"
)

// Store is a small data set as an .npz with the store's keys.
type Store map[string]npy.Entry

// NewStore returns two rings of 30 vertices, one class each.
func NewStore() Store {
	const n, d = 60, 6
	var indptr []int64
	var indices []int32
	x, y := make([]float32, n*d), make([]int64, n)
	for v := range n {
		indptr = append(indptr, int64(len(indices)))
		half := v / 30 * 30
		indices = append(indices, int32(half+(v+29)%30), int32(half+(v+1)%30))
		x[v*d+v%d], y[v] = 1, int64(v/30)
		x[v*d+v/30] += 0.5
	}
	indptr = append(indptr, int64(len(indices)))
	return Store{
		"indptr": {Data: indptr}, "indices": {Data: indices}, "x": {Shape: []int{n, d}, Data: x}, "y": {Data: y},
	}
}

// Write puts the store into the sandbox under this name, which it returns.
func (st Store) Write(s *Sandbox, name string) string {
	s.T.Helper()
	var entries []npy.Entry
	for _, key := range []string{"indptr", "indices", "edge_weight", "x", "y", "train_mask", "val_mask", "test_mask"} {
		if e, ok := st[key]; ok {
			e.Key = key
			entries = append(entries, e)
		}
	}
	if err := npy.WriteArchiveFile(s.Path(name), entries, npy.Archiving{}); err != nil {
		s.T.Fatal(err)
	}
	return name
}
