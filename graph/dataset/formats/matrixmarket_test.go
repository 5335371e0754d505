package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
)

// arcs lists the edges of a graph, as from→to:weight.
func arcs(d *dataset.Dataset) string {
	var out []string
	for v := range d.Graph.Rows() {
		for k, u := range d.Graph.Row(v) {
			w := float32(1)
			if d.Graph.Weights != nil {
				w = d.Graph.Weights[d.Graph.Indptr[v]+int64(k)]
			}
			out = append(out, fmt.Sprintf("%d→%d:%g", u, v, w))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// An entry (i, j) of a matrix is the edge i → j, from 1 on; a symmetric matrix has its mirror image too.
func TestMatrixMarket(t *testing.T) {
	const general = "%%MatrixMarket matrix coordinate real general\n% c\n%\n3 3 3\n1 2 0.5\n3 3 -2\n\n1 2 1e0\n"
	for name, c := range map[string]struct {
		text string
		opt  dataset.Options
		want string
	}{
		"general":          {general, dataset.Options{}, "0→1:1.5 2→2:-2"},
		"reversed":         {general, dataset.Options{Edges: dataset.Reversed}, "1→0:1.5 2→2:-2"},
		"made symmetric":   {general, dataset.Options{Edges: dataset.Symmetric}, "0→1:1.5 1→0:1.5 2→2:-2"},
		"weights ignored":  {general, dataset.Options{IgnoreWeights: true}, "0→1:1 2→2:1"},
		"symmetric":        {"%%matrixmarket MATRIX Coordinate integer Symmetric\n3 3 2\n2 1 7\n3 3 1\n", dataset.Options{}, "0→1:7 1→0:7 2→2:1"},
		"unsigned":         {"%%MatrixMarket matrix coordinate unsigned-integer general\n3 3 1\n2 1 7\n", dataset.Options{}, "1→0:7"},
		"pattern":          {"%%MatrixMarket matrix coordinate pattern general\n4 4 2\n2 1\n4 1\n", dataset.Options{}, "1→0:1 3→0:1"},
		"symmetric, loops": {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", dataset.Options{}, "0→0:1 0→1:1 1→0:1"},
		"no entries":       {"%%MatrixMarket matrix coordinate pattern general\n4 4 0\n", dataset.Options{}, ""},
		"gzip":             {datatest.Gzip(t, general), dataset.Options{}, "0→1:1.5 2→2:-2"},
	} {
		dir := datatest.PutText(t, map[string]string{"web.mtx": c.text})
		for _, path := range []string{dir, filepath.Join(dir, "web.mtx")} {
			d, err := Load(path, c.opt)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got := arcs(d); got != c.want || d.Format != "matrix-market" || path != dir && d.Name != "web" {
				t.Errorf("%s: got %s, %s %s, want %s", name, got, d.Format, d.Name, c.want)
			}
			directed := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "are read as directed") })
			if symmetric := strings.Contains(strings.ToLower(c.text), "symmetric"); directed != (!symmetric && c.opt.Edges == "") {
				t.Errorf("%s: notes %q", name, d.Notes)
			}
		}
	}
}

func TestMatrixMarketFaults(t *testing.T) {
	const head = "%%MatrixMarket matrix coordinate real general\n"
	for _, c := range []struct{ text, want string }{
		{"3 3 1\n1 2 1\n", "want %%MatrixMarket matrix coordinate"},
		{"%%MatrixMarket\n", "want %%MatrixMarket matrix coordinate"},
		{"%%MatrixMarket matrix array real general\n1 1\n1\n", `is a matrix of the kind "array real general", which is not read: in Python: A = scipy.io.mmread("PATH"); scipy.io.mmwrite("web-edges.mtx", scipy.sparse.coo_array(A), symmetry="general")`},
		{"%%MatrixMarket matrix coordinate complex hermitian\n", `A = abs(scipy.io.mmread("PATH")); scipy.io.mmwrite("web-edges.mtx", A)`},
		{"%%MatrixMarket matrix coordinate real skew-symmetric\n", `symmetry="general"`},
		{head, "line 2: the line ends here, want rows, columns and entries"},
		{head + "3 4 1\n", "line 2: is 3 × 4; want as many columns as rows"},
		{head + "0 0 0\n", "number of rows 0 is outside [1, "},
		{head + "3 3\n", "line 2: the line ends here, want another number"},
		{head + "3 3 1 1\n", "want the end of the line"},
		{head + "3 3 2\n1 1 1\n", "number of entries: 2 in the line of sizes, 1 in the file"},
		{head + "3 3 1\n1 1 1\n2 2 1\n", "line 4: found '2', want the end of the file after 1 entries"},
		{head + "3 3 1\n0 1 1\n", "byte 52: line 3: row 0 is outside [1, 3]"},
		{head + "3 3 1\n1 4 1\n", "line 3: column 4 is outside [1, 3]"},
		{head + "3 3 1\n1 2\n", "line 3: the line ends here, want another number"},
		{head + "3 3 1\n1 2 nan\n", "weights must be finite"},
		{head + "3 3 1\n1 2 x\n", `found "x", want a number`},
		{head + "3 3 1\n1 2 3 4\n", "want the end of the line after row, column and value"},
		{"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2 1\n", "line 3: found '1', want the end of the line"},
		{"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 0\n", "line 3: column 0 is outside [1, 3]"},
		{head + "2000000000 2000000000 1\n1 2 1\n", "has 1 entries for 2000000000 vertices; at most "},
		{head + "9223372036854775807 1 1\n", "more than 18 digits"},
	} {
		path := filepath.Join(datatest.PutText(t, map[string]string{"web.mtx": c.text}), "web.mtx")
		_, err := Load(path, dataset.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "PATH", path)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
	path := filepath.Join(datatest.PutText(t, map[string]string{"edges.csv": head + "1 1 0\n"}), "edges.csv")
	if _, err := Load(path, dataset.Options{}); err == nil || !strings.Contains(err.Error(), "is a MatrixMarket matrix: let its name end in .mtx") {
		t.Errorf("got %v", err)
	}
}

// FuzzMatrixMarket reads any bytes as a matrix: an error of one line, or a valid graph with the vertices that the sizes say.
func FuzzMatrixMarket(f *testing.F) {
	for _, s := range []string{" matrix coordinate real general\n3 3 2\n1 2 0.5\n3 3 -2\n", " matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", " matrix array real general\n1 1\n1\n"} {
		f.Add([]byte(s))
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(root, fmt.Sprint(os.Getpid())+".mtx")
		if err := os.WriteFile(path, append([]byte(matrixBanner), b...), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Load(path, dataset.Options{})
		accepted(t, path, d, err)
	})
}
