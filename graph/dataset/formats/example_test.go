package formats_test

import (
	"fmt"
	"os"
	"path/filepath"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
)

// Load finds out what lies at a path: here a folder of CSV files.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"edges.csv": "0,1\n1,2\n", "features.csv": "1,0\n0,1\n1,1\n", "labels.csv": "0\n1\n1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	d, err := formats.Load(dir, dataset.Options{})
	if err != nil {
		panic(err)
	}
	defer d.Close()
	fmt.Println(d.Graph.Rows(), "vertices,", d.Graph.Edges(), "directed edges,", d.Features.Cols, "features,",
		d.Classes, "classes")
	// Output: 3 vertices, 2 directed edges, 2 features, 2 classes
}
