package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
	"capgnn/internal/npy"
)

// addressSpace is the limit under which hostile files are read, in KiB. The runtime and its threads reserve up to 1.8 GiB.
const addressSpace = 3 << 20

// under returns the program with these arguments, to run under addressSpace.
func (s *sandbox) under(args ...string) *exec.Cmd { return s.limitedTo("v", addressSpace, args...) }

// limited runs the program under addressSpace and wants one line and exit code 2 or 3.
func (s *sandbox) limited(want string, args ...string) {
	s.T.Helper()
	s.refused(s.under(args...), want, args)
}

// refused runs a command and wants one line that says want, and exit code 2 or 3.
func (s *sandbox) refused(cmd *exec.Cmd, want string, args []string) {
	s.T.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.T.Fatal(err)
	}
	code, line := cmd.ProcessState.ExitCode(), strings.TrimSuffix(errs.String(), "\n")
	if code != term.ExitUsage && code != term.ExitDoesNotFit || !strings.HasPrefix(line, "capgnn: ") || strings.Contains(line, "\n") || out.Len() > 0 {
		s.T.Errorf("capgnn %s: exit code %d, want 2 or 3 with one line\nstdout %.300q\nstderr %.600q", strings.Join(args, " "), code, out.String(), errs.String())
		return
	}
	if !strings.Contains(line, want) {
		s.T.Errorf("capgnn %s: %q does not say %q", strings.Join(args, " "), line, want)
	}
}

// Files that claim or inflate to more than there is, in every format: one line and exit code 2 or 3 under a limited address
// space, where a program that believed them would end with the runtime's "out of memory". Both commands that read them meet all with
// CAPGNN_LONG=1, else one of them meets half of the files, by turns.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs ulimit -v")
	}
	s := newSandbox(t)
	ring, next := []int64{0, 1, 2}, []int32{1, 0}
	const huge = 4 << 30
	scale := 20 // a repeated line is refused beyond 16 MiB
	if long.Wanted() {
		scale = 64
	}
	wide := func(n int64) string { return fmt.Sprintf("(2, %d)", n/8) }
	store := func(name string, files map[string][]byte) {
		for file, b := range map[string][]byte{"indptr.npy": nil, "indices.npy": nil} {
			if b = files[file]; b == nil {
				var buf bytes.Buffer
				var err error
				if file == "indptr.npy" {
					err = npy.Write(&buf, nil, ring)
				} else {
					err = npy.Write(&buf, nil, next)
				}
				if err != nil {
					t.Fatal(err)
				}
				b = buf.Bytes()
			}
			s.put(name+"/"+file, b)
		}
		for file, b := range files {
			s.put(name+"/"+file, b)
		}
	}
	for i, c := range []struct {
		name, want string
		make       func(name string)
	}{
		// native store
		{"meta", "vertices", func(name string) {
			store(name, map[string][]byte{"meta.json": []byte(`{"capgnn_store": 1, "vertices": 4000000000000000000}`)})
		}},
		{"longmeta", "longer than", func(name string) { store(name, nil); s.hollow(name+"/meta.json", []byte("{"), huge) }},
		{"shape", "truncated", func(name string) {
			store(name, map[string][]byte{"indptr.npy": header("<i8", "(1000000000000,)")})
		}},
		{"overflow", "too large", func(name string) {
			store(name, map[string][]byte{"indptr.npy": header("<i8", "(4611686018427387904, 4)")})
		}},
		{"mapped", "x.npy", func(name string) { // 2 × 2^24 float32 fit; 1,000 rows do not
			n, ptr := 1000, []int64(nil)
			for v := range n + 1 {
				ptr = append(ptr, int64(min(v, 2)))
			}
			var b bytes.Buffer
			if err := npy.Write(&b, nil, ptr); err != nil {
				t.Fatal(err)
			}
			h := header("<f4", "(1000, 16000000)")
			store(name, map[string][]byte{"indptr.npy": b.Bytes()})
			s.hollow(name+"/x.npy", h, int64(len(h))+1000*16000000*4)
		}},
		{"converted", "needs", func(name string) {
			h := header("<f8", "(2, 16777216)")
			hy := header("<i4", "(500000001,)")
			store(name, nil)
			s.hollow(name+"/x.npy", h, int64(len(h))+2*16777216*8)
			s.hollow(name+"/indptr.npy", hy, int64(len(hy))+500000001*4)
		}},
		{"rowpointers", "row pointer", func(name string) {
			var b bytes.Buffer
			if err := npy.Write(&b, nil, []int64{0, 1 << 62, 2}); err != nil {
				t.Fatal(err)
			}
			store(name, map[string][]byte{"indptr.npy": b.Bytes()})
		}},
		// .npz with the store's keys
		{"x.npz", "x.npy", func(name string) {
			s.bombs(name, []bomb{{"x", header("<f4", wide(2*huge)), 2 * huge}}, entry("indptr", ring), entry("indices", next))
		}},
		{"indptr.npz", "needs", func(name string) {
			s.bombs(name, []bomb{{"indptr", header("<i8", "(300000000,)"), 2400000000}}, entry("indices", []int32{}))
		}},
		{"targets.npz", "needs", func(name string) {
			s.bombs(name, []bomb{{"y", header("|u1", "(2, 1100000000)"), 2200000000}}, entry("indptr", ring), entry("indices", next))
		}},
		{"label.npz", "label", func(name string) {
			s.bombs(name, nil, entry("indptr", ring), entry("indices", next), entry("x", []float32{1, 2}, 2, 1), entry("y", []int64{0, 1 << 40}))
		}},
		{"lie.npz", "deflate cannot", func(name string) {
			s.bombs(name, []bomb{{"x", header("<f4", wide(huge)), 1 << 20}}, entry("indptr", ring), entry("indices", next))
			b, err := os.ReadFile(s.path(name))
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.LastIndex(b, []byte("x.npy")) - 46 // the member's entry in the archive's directory
			binary.LittleEndian.PutUint32(b[at+24:], 3<<30)
			s.put(name, b)
		}},
		// gnn-benchmark
		{"bench.npz", "row pointers", func(name string) {
			s.bombs(name, nil, entry("adj_indptr", ring), entry("adj_indices", next), entry("adj_shape", []int64{2147483646, 2147483646}))
		}},
		{"benchbomb.npz", "needs", func(name string) {
			s.bombs(name, []bomb{{"adj_indptr", header("<i4", "(536870912,)"), 4 * 536870912}}, entry("adj_indices", []int32{}), entry("adj_shape", []int64{536870911, 536870911}))
		}},
		{"attr.npz", "1 to 16777216 columns", func(name string) {
			s.bombs(name, nil, entry("adj_indptr", ring), entry("adj_indices", next), entry("adj_shape", []int64{2, 2}),
				entry("attr_indptr", ring), entry("attr_indices", next), entry("attr_data", []float32{1, 1}), entry("attr_shape", []int64{2, 2147483646}))
		}},
		// heterophilous graphs
		{"het.npz", "node_features", func(name string) {
			s.bombs(name, []bomb{{"node_features", header("<f4", "(1000000000, 1)"), 4000000000}}, entry("edges", []int64{0, 1}, 1, 2))
		}},
		{"hetlabels.npz", "node_labels", func(name string) {
			s.bombs(name, []bomb{{"node_labels", header("|u1", "(4000000000,)"), 4000000000}}, entry("edges", []int64{0, 1}, 1, 2), entry("node_features", []float32{1, 2}, 2, 1))
		}},
		// GraphSAINT
		{"saint", "needs", func(name string) {
			s.bombs(name+"/adj_full.npz", []bomb{{"indptr", header("<i4", "(536870912,)"), 4 * 536870912}}, entry("indices", []int32{}), entry("shape", []int64{536870911, 536870911}))
			for _, file := range []string{"feats.npy", "role.json", "class_map.json"} {
				s.put(name+"/"+file, []byte("{}"))
			}
		}},
		{"coo", "at most", func(name string) {
			s.bombs(name+"/adj_full.npz", nil, entry("row", []int32{0}), entry("col", []int32{1}), entry("shape", []int64{2147483646, 2147483646}), entry("format", []string{"coo"}))
			for _, file := range []string{"feats.npy", "role.json", "class_map.json"} {
				s.put(name+"/"+file, []byte("{}"))
			}
		}},
		{"classmap", "class_map.json", func(name string) {
			saintOf(s, name, []byte("{"+strings.Repeat(" ", 10)), []byte(`{"tr": [0]}`))
			s.hollow(name+"/class_map.json", []byte(`{"0": [`), 3*huge)
		}},
		{"roles", "role.json", func(name string) {
			saintOf(s, name, []byte(`{"0": 1}`), []byte(`{"tr": [99999999999999999999999]}`))
		}},
		// Planetoid
		{"ind.long.graph", "bytes wanted", func(name string) { planetoidOf(s, "long", []byte("\x80\x02T\xff\xff\xff\x7fabc")) }},
		{"ind.marks.graph", "deep", func(name string) {
			planetoidOf(s, "marks", append([]byte("\x80\x02"), bytes.Repeat([]byte("("), scale<<20)...))
		}},
		{"ind.stack.graph", "waiting", func(name string) {
			planetoidOf(s, "stack", append([]byte("\x80\x02"), bytes.Repeat([]byte("]"), 1<<20)...))
		}},
		{"ind.lists.graph", "needs", func(name string) {
			planetoidOf(s, "lists", append([]byte("\x80\x02]"), bytes.Repeat([]byte("("+strings.Repeat("]", 1000)+"e"), 50<<10)...))
		}},
		{"ind.call.graph", "os system", func(name string) {
			planetoidOf(s, "call", []byte("\x80\x02cos\nsystem\nU\x09touch bad\x85R."))
		}},
		// text
		{"id.txt", "too large", func(name string) { s.put(name, []byte("0 2147483640\n")) }},
		{"digits.txt", "digits", func(name string) { s.put(name, []byte("0 99999999999999999999999999\n")) }},
		{"bomb.txt.gz", "inflate", func(name string) {
			create(t, s.path(name), true, func(w io.Writer) error { return repeat(w, "1 1\n", scale<<20) })
		}},
		{"csv", "inflate", func(name string) {
			s.put(name+"/edges.csv", []byte("0,1\n"))
			create(t, s.path(name+"/features.csv.gz"), true, func(w io.Writer) error { return repeat(w, "1,1\n", scale<<20) })
		}},
		{"columns", "more than", func(name string) {
			s.put(name+"/edges.csv", []byte("0,1\n"))
			create(t, s.path(name+"/features.csv"), false, func(w io.Writer) error { return repeat(w, "1,", 40<<20) })
		}},
		// OGB
		{"ogb", "vertices", func(name string) {
			ogbOf(s, name, "2147483645", "1", "0,1\n", "")
		}},
		{"ogbfeat", "node-feat", func(name string) { // a million rows of a million columns are announced by the first line
			ogbOf(s, name, "1000000", "1", "0,1\n", strings.Repeat("1,", 999999)+"1\n1\n")
		}},
		// DGL's Reddit
		{"reddit_data.npz", "label", func(name string) {
			s.bombs(name, []bomb{{"label", header("|u1", "(2000000000,)"), 2000000000}, {"node_types", header("|u1", "(2000000000,)"), 2000000000}}, entry("feature", []float32{1}, 1, 1))
			s.bombs("reddit_graph.npz", nil, entry("row", []int32{0}), entry("col", []int32{0}), entry("shape", []int64{1, 1}))
		}},
	} {
		if !long.Nth(t, 2, i/2) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			c.make(c.name)
			if c.name == "ind.lists.graph" {
				// Less memory, of which millions of objects are made; import, which collects garbage more often, would take long.
				args := []string{"data", "info", "./" + c.name, "--quiet"}
				inner.refused(inner.limitedTo("v", 2<<20, args...), c.want, args)
				return
			}
			if i%2 == 0 || long.Wanted() {
				inner.limited(c.want, "data", "info", "./"+c.name, "--quiet")
			}
			if i%2 == 1 || long.Wanted() {
				inner.limited(c.want, "data", "import", "./"+c.name, "--out", "out-"+c.name, "--quiet")
			}
			if term.Exists(s.path("out-" + c.name)) {
				t.Error("a hostile file left a store")
			}
			if err := os.RemoveAll(s.path(c.name)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if term.Exists(s.path("bad")) {
		t.Error("a pickle was obeyed")
	}
}
