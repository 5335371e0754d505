package rapa

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/graph"
)

// sharedData returns the folder of published graphs, or skips the test where it is absent.
func sharedData(t testing.TB) string {
	root := os.Getenv("CAPGNN_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(root, "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("shared data folder is absent: set CAPGNN_SHARED")
	}
	return dir
}

// npzInts reads integer arrays of one .npz, which this package may not do with the product's readers.
func npzInts(t testing.TB, path string, keys ...string) map[string][]int64 {
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string][]int64{}
	for _, key := range keys {
		f, err := z.Open(key + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		at := 10 + int(binary.LittleEndian.Uint16(b[8:]))
		head, body := string(b[10:at]), b[at:]
		for len(body) > 0 {
			if strings.Contains(head, "<i8") {
				out[key], body = append(out[key], int64(binary.LittleEndian.Uint64(body))), body[8:]
			} else {
				out[key], body = append(out[key], int64(int32(binary.LittleEndian.Uint32(body)))), body[4:]
			}
		}
	}
	return out
}

// published reads Coauthor Physics, symmetrised and without loops.
func published(t testing.TB) *graph.CSR {
	m := npzInts(t, filepath.Join(sharedData(t), "coauthor_physics", "coauthor_phy.npz"), "adj_indptr", "adj_indices")
	g := &graph.CSR{Cols: len(m["adj_indptr"]) - 1, Indptr: m["adj_indptr"]}
	for _, u := range m["adj_indices"] {
		g.Indices = append(g.Indices, graph.NodeID(u))
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g.Symmetrise().WithoutLoops()
}
