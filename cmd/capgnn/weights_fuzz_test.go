package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/internal/npy"
)

// FuzzWeights reads any bytes as weights, of either kind: an error of one line that names the file, or finite numbers as
// many as the shapes say.
func FuzzWeights(f *testing.F) {
	var b bytes.Buffer
	if err := npy.WriteArchive(&b, []npy.Entry{{Key: "param/convs.0.bias", Data: []float32{1, 2}}, {Key: "logits", Data: []int64{3}}}, npy.Archiving{}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), true)
	head := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	f.Add(append(append([]byte{byte(len(head)), 0, 0, 0, 0, 0, 0, 0}, head...), 0, 0, 128, 63), false)
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, archive bool) {
		path := filepath.Join(root, fmt.Sprint(os.Getpid(), map[bool]string{true: ".npz", false: ".safetensors"}[archive]))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		tensors, err := gnn.ReadStateDict(path)
		if err != nil {
			if !strings.HasPrefix(err.Error(), path) || strings.Contains(term.OneLine(err), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		for name, x := range tensors {
			n := 1
			for _, d := range x.Shape {
				n *= d
			}
			if n != len(x.Data) {
				t.Fatalf("%q has shape %v and %d numbers", name, x.Shape, len(x.Data))
			}
		}
	})
}
