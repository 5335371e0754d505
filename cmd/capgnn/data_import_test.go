package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
	"capgnn/internal/npy"
	"capgnn/internal/published"
)

// scatter is what a process may take beside the data and what the import of 60 vertices takes (pages of the program, stacks,
// buffers): what the collector has not yet found to be garbage, in bytes.
const scatter = 4 << 20

// idle returns what the import of 60 vertices takes.
var idle = sync.OnceValues(func() (int64, error) {
	dir, err := os.MkdirTemp("", "capgnn-idle-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	var entries []npy.Entry
	for key, e := range newStore() {
		e.Key = key
		entries = append(entries, e)
	}
	src := filepath.Join(dir, "ok.npz")
	if err := npy.WriteArchiveFile(src, entries, npy.Archiving{}); err != nil {
		return 0, err
	}
	out, err := exec.Command(progtest.Program, "data", "import", src, "--out", filepath.Join(dir, "out"), "--json", "--quiet").Output()
	if err != nil {
		return 0, err
	}
	var w written
	err = json.Unmarshal(out, &w)
	return w.Peak, err
})

// withinMemory imports src and holds the peak of the process to one and a half times the store.
func withinMemory(t *testing.T, s *sandbox, src string, atLeast int64, flags ...string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the peak of other systems' processes counts other things")
	}
	out := filepath.Join("stores", strings.ReplaceAll(filepath.Base(src), ".", "-")+strings.Join(flags, ""))
	w := resultOf[written](t, s.must(append([]string{"data", "import", src, "--out", out, "--json", "--quiet"}, flags...)...))
	if w.Bytes < atLeast {
		t.Errorf("the store has %d bytes, too few to tell anything (want %d)", w.Bytes, atLeast)
	}
	small, err := idle()
	if err != nil {
		t.Fatal(err)
	}
	if limit := w.Bytes*3/2 + small + scatter; w.Peak > limit {
		t.Errorf("%s %v: peak %s for a store of %s, want at most %s", src, flags, term.Size(w.Peak), term.Size(w.Bytes), term.Size(limit))
	}
	t.Logf("%s %v: peak %s, store %s, %.2f s", src, flags, term.Size(w.Peak), term.Size(w.Bytes), w.Seconds)
}

func TestImportMemoryOfPublishedSets(t *testing.T) {
	s := newSandbox(t)
	for _, name := range long.Some(t, []string{
		"amazon_photo", "citeseer_npz", "coauthor_cs", "coauthor_physics", "cora_ml", "cora_npz", "heterophilous/actor.npz", "heterophilous/chameleon_filtered.npz",
		"heterophilous/minesweeper.npz", "heterophilous/squirrel_filtered.npz", "heterophilous/tolokers.npz", "planetoid_citeseer", "planetoid_cora", "ppi", "soc_epinions1", "web_notredame",
	}, 2) {
		withinMemory(t, s, published.Path(t, name), 0)
	}
	for _, read := range long.Some(t, []string{"--edges=symmetric", "--compact"}, 1) {
		withinMemory(t, s, published.Path(t, "web_notredame"), 0, read)
	}
}

// Formats, large enough that a second copy of what is large would show: 2 Mi pairs, or 12 MiB of features. Some of them by turns; CAPGNN_LONG=1 has
// all, with twice the features and more flags.
func TestImportMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 300 MB")
	}
	s := newSandbox(t)
	big, small := wheel{1 << 18, 16}, wheel{1 << 15, 8}
	edgesOnly, withFeatures := int64(16<<20), int64(12<<20)
	if long.Wanted() {
		small.n, withFeatures = 1<<16, 24<<20
	}
	const cols = 96
	n := small.n
	x, y := values(n, cols), make([]int64, n)
	half := make([]bool, n)
	for v := range n {
		y[v], half[v] = int64(v%7), v < n/2
	}
	indptr, indices := small.rows()
	ones := npy.Entry{Key: "data", Data: bytes.Repeat([]byte{1}, len(indices))}
	dense := func(key string) npy.Entry { return npy.Entry{Key: key, Shape: []int{n, cols}, Data: x} }

	formats := long.Some(t, []string{"edge list", "store archive", "zeros", "gnn-benchmark", "heterophilous", "GraphSAINT", "reddit", "OGB", "OGB arrays", "DGL", "MatrixMarket", "CSV", "Planetoid"}, 2)
	format := func(name string, f func(t *testing.T)) {
		if slices.Contains(formats, name) {
			t.Run(name, f)
		}
	}
	format("edge list", func(t *testing.T) {
		create(t, s.path("once.txt"), false, func(w io.Writer) error { return big.text(w, "\t", false) })
		withinMemory(t, s, "once.txt", edgesOnly, "--compact", "--edges", "reversed")
		if !long.Wanted() {
			return
		}
		create(t, s.path("both.txt.gz"), true, func(w io.Writer) error { return wheel{1 << 17, 16}.text(w, " ", true) })
		withinMemory(t, s, "once.txt", edgesOnly)
		withinMemory(t, s, "once.txt", edgesOnly, "--edges", "symmetric")
		withinMemory(t, s, "both.txt.gz", edgesOnly, "--edges", "symmetric")
	})
	format("store archive", func(t *testing.T) {
		archive(t, s.path("plain.npz"), npy.Entry{Key: "indptr", Data: indptr}, npy.Entry{Key: "indices", Data: indices}, dense("x"), npy.Entry{Key: "y", Data: y}, npy.Entry{Key: "train_mask", Data: half})
		withinMemory(t, s, "plain.npz", withFeatures)
		if long.Wanted() {
			withinMemory(t, s, "plain.npz", withFeatures, "--standardize", "train", "--edges", "symmetric")
		}
		withinMemory(t, s, "stores/plain-npz", withFeatures, "--standardize", "train")
	})
	format("zeros", func(t *testing.T) { // which inflate a thousand times
		archive(t, s.path("zeros.npz"), npy.Entry{Key: "indptr", Data: indptr}, npy.Entry{Key: "indices", Data: indices}, npy.Entry{Key: "x", Shape: []int{n, cols}, Data: make([]float32, n*cols)})
		withinMemory(t, s, "zeros.npz", withFeatures)
	})
	format("gnn-benchmark", func(t *testing.T) {
		ptr, col, val := make([]int32, n+1), make([]int32, 0, n*48), make([]float32, n*48)
		for v := range n {
			for j := range 48 {
				col = append(col, int32((v+j)%1000+1000*(1-min(1, (v+j)%1000/950)))) // not ascending everywhere
			}
			ptr[v+1] = int32(len(col))
		}
		for i := range val {
			val[i] = 1
		}
		archive(t, s.path("bench.npz"), npy.Entry{Key: "adj_indptr", Data: indptr}, npy.Entry{Key: "adj_indices", Data: indices}, npy.Entry{Key: "adj_shape", Data: []int64{int64(n), int64(n)}},
			npy.Entry{Key: "attr_indptr", Data: ptr}, npy.Entry{Key: "attr_indices", Data: col}, npy.Entry{Key: "attr_data", Data: val}, npy.Entry{Key: "attr_shape", Data: []int64{int64(n), 3000}}, npy.Entry{Key: "labels", Data: y})
		withinMemory(t, s, "bench.npz", withFeatures)
	})
	format("heterophilous", func(t *testing.T) {
		pairs, masks := make([]int64, 2*small.n*small.k), npy.Entry{Shape: []int{10, n}, Data: bytes.Repeat([]byte{1}, 10*n)}
		small.each(func(i, u, v int) { pairs[2*i], pairs[2*i+1] = int64(u), int64(v) })
		train := masks
		train.Key = "train_masks"
		archive(t, s.path("het.npz"), dense("node_features"), npy.Entry{Key: "node_labels", Data: y}, npy.Entry{Key: "edges", Shape: []int{len(pairs) / 2, 2}, Data: pairs}, train)
		withinMemory(t, s, "het.npz", withFeatures)
	})
	format("GraphSAINT", func(t *testing.T) {
		shape, format := npy.Entry{Key: "shape", Data: []int64{int64(n), int64(n)}}, npy.Entry{Key: "format", Shape: []int{}, Data: []string{"csr"}}
		archive(t, s.path("saint/adj_full.npz"), npy.Entry{Key: "indptr", Data: indptr}, npy.Entry{Key: "indices", Data: indices}, shape, format, ones)
		create(t, s.path("saint/feats.npy"), false, func(w io.Writer) error { return npy.Write(w, []int{n, cols}, x) })
		create(t, s.path("saint/role.json"), false, func(w io.Writer) error { _, err := io.WriteString(w, `{"tr": [0, 1, 2], "va": [3]}`); return err })
		create(t, s.path("saint/class_map.json"), false, func(w io.Writer) error { _, err := io.WriteString(w, `{"0": 1, "5": 0}`); return err })
		withinMemory(t, s, "saint", withFeatures)
	})
	format("reddit", func(t *testing.T) {
		from, types := make([]int64, len(indices)), make([]uint8, n)
		small.each(func(i, u, _ int) { from[i] = int64(u) })
		archive(t, s.path("red/reddit_graph.npz"), npy.Entry{Key: "row", Data: from}, npy.Entry{Key: "col", Data: indices}, ones,
			npy.Entry{Key: "shape", Data: []int64{int64(n), int64(n)}}, npy.Entry{Key: "format", Shape: []int{}, Data: []string{"coo"}})
		archive(t, s.path("red/reddit_data.npz"), dense("feature"), npy.Entry{Key: "label", Data: y}, npy.Entry{Key: "node_types", Data: types})
		withinMemory(t, s, "red", withFeatures)
	})
	number := func(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', 6, 64) }
	table := func(w io.Writer, rows, cols int, cell func(b []byte, r, c int) []byte) error {
		out := bufio.NewWriter(w)
		var line []byte
		for r := range rows {
			line = line[:0]
			for c := range cols {
				line = append(cell(line, r, c), ',')
			}
			line[len(line)-1] = '\n'
			out.Write(line)
		}
		return out.Flush()
	}
	format("OGB", func(t *testing.T) {
		count := func(v int) func(w io.Writer) error {
			return func(w io.Writer) error { _, err := fmt.Fprintln(w, v); return err }
		}
		create(t, s.path("ogb/raw/num-node-list.csv.gz"), true, count(n))
		create(t, s.path("ogb/raw/num-edge-list.csv.gz"), true, count(len(indices)))
		create(t, s.path("ogb/raw/edge.csv.gz"), true, func(w io.Writer) error { return small.text(w, ",", false) })
		create(t, s.path("ogb/raw/node-feat.csv.gz"), true, func(w io.Writer) error {
			return table(w, n, cols, func(b []byte, r, c int) []byte { return strconv.AppendInt(b, int64((r*7+c)%2), 10) }) // inflates 100 times
		})
		withinMemory(t, s, "ogb", withFeatures)
	})
	format("OGB arrays", func(t *testing.T) {
		m, labels := small.n*small.k, make([]float32, n)
		ends := make([]int64, 2*m)
		small.each(func(i, u, v int) { ends[i], ends[m+i] = int64(u), int64(v) })
		archive(t, s.path("arrays/raw/data.npz"), npy.Entry{Key: "edge_index", Shape: []int{2, m}, Data: ends}, dense("node_feat"),
			npy.Entry{Key: "num_nodes_list", Data: []int64{int64(n)}}, npy.Entry{Key: "num_edges_list", Data: []int64{int64(m)}})
		archive(t, s.path("arrays/raw/node-label.npz"), npy.Entry{Key: "node_label", Shape: []int{n, 1}, Data: labels})
		withinMemory(t, s, "arrays", withFeatures)
	})
	format("DGL", func(t *testing.T) {
		create(t, s.path("dgl/meta.yaml"), false, func(w io.Writer) error {
			_, err := io.WriteString(w, "dataset_name: dgl\nnode_data: [{file_name: nodes.csv}]\nedge_data: [{file_name: edges.csv}]\n")
			return err
		})
		create(t, s.path("dgl/edges.csv"), false, func(w io.Writer) error {
			if _, err := io.WriteString(w, "src_id,dst_id\n"); err != nil {
				return err
			}
			return small.text(w, ",", false)
		})
		create(t, s.path("dgl/nodes.csv"), false, func(w io.Writer) error {
			out := bufio.NewWriter(w)
			out.WriteString("node_id,label,feat\n")
			var line []byte
			for r := n - 1; r >= 0; r-- {
				line = fmt.Appendf(line[:0], "%d,%d,\"", r, y[r])
				for c := range cols {
					line = append(number(line, x[r*cols+c]), ',')
				}
				line[len(line)-1] = '"'
				out.Write(append(line, '\n'))
			}
			return out.Flush()
		})
		withinMemory(t, s, "dgl", withFeatures)
	})
	format("MatrixMarket", func(t *testing.T) {
		create(t, s.path("big.mtx"), false, func(w io.Writer) error {
			out := bufio.NewWriter(w)
			fmt.Fprintf(out, "%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n", big.n, big.n, big.n*big.k)
			big.each(func(_, u, v int) { fmt.Fprintln(out, u+1, v+1) })
			return out.Flush()
		})
		withinMemory(t, s, "big.mtx", edgesOnly)
		withinMemory(t, s, "big.mtx", edgesOnly, "--edges", "symmetric")
	})
	format("CSV", func(t *testing.T) {
		create(t, s.path("csv/edges.csv"), false, func(w io.Writer) error { return small.text(w, ",", false) })
		create(t, s.path("csv/features.csv"), false, func(w io.Writer) error {
			return table(w, n, cols, func(b []byte, r, c int) []byte { return number(b, x[r*cols+c]) })
		})
		create(t, s.path("csv/labels.csv"), false, func(w io.Writer) error {
			return table(w, n, 1, func(b []byte, r, _ int) []byte { return strconv.AppendInt(b, y[r], 10) })
		})
		withinMemory(t, s, "csv", withFeatures)
	})
	format("Planetoid", func(t *testing.T) {
		writePlanetoid(t, s, wheel{1 << 14, 4}, 250)
		withinMemory(t, s, "plan", withFeatures)
	})
}

// leftIn lists a folder.
func leftIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// Ctrl-C while a long text is read: one line, exit code 130, nothing left.
func TestImportInterrupted(t *testing.T) {
	s := newSandbox(t)
	create(t, s.path("edges.txt"), false, func(w io.Writer) error { return wheel{1 << 18, 12}.text(w, " ", false) }) // 40 MB
	if err := os.Mkdir(s.path("out"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := s.command("data", "import", "edges.txt", "--out", "out/store")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
		if len(all) == 1 {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != term.ExitInterrupted {
		t.Fatalf("exit code %d (%v), want %d\n%s", code, err, term.ExitInterrupted, strings.Join(all, "\n"))
	}
	if last := all[len(all)-1]; last != "capgnn: interrupted: nothing was written" {
		t.Errorf("last line %q of %q", last, all)
	}
	if left := leftIn(t, s.path("out")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// A full disk, for which the system's limit of a file's size stands: one line, exit code 1, nothing left.
func TestImportFullDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system limits no file size, which stands for a full disk")
	}
	s := newSandbox(t)
	create(t, s.path("edges.txt"), false, func(w io.Writer) error { return wheel{1 << 14, 8}.text(w, " ", false) })
	if err := os.Mkdir(s.path("out"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := s.command("data", "import", "edges.txt", "--out", "out/store", "--quiet")
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -f 128 && exec "$0" "$@"`, progtest.Program}, run.Args[1:]...)...)
	cmd.Dir, cmd.Env = run.Dir, run.Env
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != term.ExitFailure {
		t.Fatalf("exit code %d (%v), want %d: %s", code, err, term.ExitFailure, out)
	}
	if line := string(out); !strings.HasPrefix(line, "capgnn: write out/store: ") || strings.Count(line, "\n") != 1 || !strings.Contains(line, "too large") {
		t.Errorf("said %q", line)
	}
	if left := leftIn(t, s.path("out")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}
