package chunks

import (
	"strings"
	"testing"
)

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		of     []int32
		chunks int
		want   string
	}{
		{"one chunk", []int32{0, 0}, 1, "1 chunks: isolated parts hold two at a time"},
		{"negative", []int32{0}, -3, "-3 chunks"},
		{"no vertex", nil, 2, "the graph has no vertices"},
		{"more chunks than vertices", []int32{0, 1}, 3, "3 chunks are more than the graph's 2 vertices: use at most 2"},
		{"beyond", []int32{0, 1, 2}, 2, "vertex 2 is in chunk 2, which is not in [0, 2)"},
		{"below", []int32{0, -1}, 2, "vertex 1 is in chunk -1"},
		{"empty", []int32{0, 2, 0}, 3, "chunk 1 has no vertex"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(c.of, c.chunks); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A cut is refused, or lists every vertex once, ascending in its chunk.
func FuzzNew(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0}, 2)
	f.Add([]byte{0, 1, 2}, 3)
	f.Add([]byte{255}, 0)
	f.Fuzz(func(t *testing.T, data []byte, chunks int) {
		of := make([]int32, len(data))
		for i, b := range data {
			of[i] = int32(int8(b))
		}
		c, err := New(of, chunks)
		if err != nil {
			return
		}
		if c.Chunks() != chunks || chunks < 2 {
			t.Fatalf("%d chunks of %d", c.Chunks(), chunks)
		}
		seen := 0
		for k, members := range c.Members {
			if len(members) == 0 {
				t.Errorf("chunk %d is empty", k)
			}
			for i, v := range members {
				if seen++; of[v] != int32(k) || i > 0 && v <= members[i-1] {
					t.Errorf("chunk %d lists vertex %d of chunk %d", k, v, of[v])
				}
			}
		}
		if seen != len(of) {
			t.Errorf("%d of %d vertices are in chunks", seen, len(of))
		}
	})
}
