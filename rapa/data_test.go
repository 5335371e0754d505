package rapa

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
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

// published reads a graph of the shared folder, symmetrised and without loops.
func published(t testing.TB, name string) *graph.CSR {
	dir := sharedData(t)
	var edges []graph.Edge
	n := 0
	rows := func(indptr, indices []int64) {
		n = len(indptr) - 1
		for v := range n {
			for _, w := range indices[indptr[v]:indptr[v+1]] {
				edges = append(edges, graph.Edge{From: int32(v), To: int32(w)})
			}
		}
	}
	switch name {
	case "coauthor_physics", "coauthor_cs", "amazon_photo":
		file := strings.Replace(name, "physics", "phy", 1) + ".npz"
		m := npzInts(t, filepath.Join(dir, name, file), "adj_indptr", "adj_indices")
		rows(m["adj_indptr"], m["adj_indices"])
	case "ppi":
		m := npzInts(t, filepath.Join(dir, name, "adj_full.npz"), "indptr", "indices")
		rows(m["indptr"], m["indices"])
	case "tolokers":
		m := npzInts(t, filepath.Join(dir, "heterophilous", name+".npz"), "edges")
		n = 11758
		for e := m["edges"]; len(e) > 0; e = e[2:] {
			edges = append(edges, graph.Edge{From: int32(e[0]), To: int32(e[1])})
		}
	case "web_notredame":
		b, err := os.ReadFile(filepath.Join(dir, name, "web-NotreDame.txt.gz"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		n = 325729
		for s := bufio.NewScanner(z); s.Scan(); {
			var e graph.Edge
			if _, err := fmt.Sscan(s.Text(), &e.From, &e.To); err == nil {
				edges = append(edges, e)
			}
		}
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g.Symmetrise().WithoutLoops()
}
