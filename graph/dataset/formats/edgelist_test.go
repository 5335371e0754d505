package formats

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/published"
)

// TestSNAPFiles holds the reader of format G to the figures in data/README.md.
func TestSNAPFiles(t *testing.T) {
	for _, c := range []struct {
		dir                                       string
		nodes, entries, pairs, loops, deg, unused int
	}{
		{"web_notredame", 325729, 1497134, 1090108, 27455, 10721, 0},
		{"soc_epinions1", 75888, 508837, 405740, 0, 3044, 9},
	} {
		directed, err1 := Load(published.Path(t, c.dir), dataset.Options{})
		reversed, err2 := Load(published.Path(t, c.dir), dataset.Options{Edges: dataset.Reversed})
		d, err3 := Load(published.Path(t, c.dir), dataset.Options{Edges: dataset.Symmetric})
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		if d.Name != c.dir || d.Format != "edge-list" || d.Features.Present() || d.Classes != 0 || d.Train != nil {
			t.Errorf("%s: got %q, %q, %+v", c.dir, d.Name, d.Format, d.Features.Cols)
		}
		p, loops := pairs(d)
		if d.Graph.Rows() != c.nodes || p != c.pairs || loops != c.loops || maxDegree(d) != c.deg || !d.Graph.Symmetric() {
			t.Errorf("%s: %d vertices, %d pairs, %d loops, degree %d", c.dir, d.Graph.Rows(), p, loops, maxDegree(d))
		}
		if int(directed.Graph.Edges()) != c.entries || !reversed.Graph.Equal(directed.Graph.Transpose()) || !d.Graph.Equal(directed.Graph.Symmetrise()) {
			t.Errorf("%s: %d directed edges, want %d", c.dir, directed.Graph.Edges(), c.entries)
		}
		notes := strings.Join(directed.Notes, "\n")
		if !strings.Contains(notes, "edges are read as directed") || strings.Contains(notes, "merged") {
			t.Errorf("%s: notes %q", c.dir, notes)
		}
		if note := fmt.Sprintf("%d of %d vertices have no edge", c.unused, c.nodes); strings.Contains(notes, note) != (c.unused > 0) {
			t.Errorf("%s: notes %q, want %q", c.dir, notes, note)
		}
		if strings.Contains(strings.Join(d.Notes, "\n"), "read as directed") {
			t.Errorf("%s: notes %q", c.dir, d.Notes)
		}
		checkTwin(t, published.Path(t, c.dir), directed)
		checkCompact(t, published.Path(t, c.dir), directed, c.nodes-c.unused)
	}
}

// checkTwin sums what the lines say, read by the standard library.
func checkTwin(t *testing.T, dir string, d *dataset.Dataset) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	f, err := os.Open(list[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	edges, _, _, _ := twin(all.String())
	var from, to, gotTo int64
	for _, e := range edges {
		from, to = from+e[0], to+e[1]
	}
	for v := range d.Graph.Rows() {
		gotTo += int64(v) * int64(len(d.Graph.Row(v)))
	}
	if sum(d.Graph.Indices) != float64(from) || gotTo != to {
		t.Errorf("%s: ids sum to %.0f and %d, want %d and %d", dir, sum(d.Graph.Indices), gotTo, from, to)
	}
}

// checkCompact: compacted vertices are the used ones in ascending order, with the same edges.
func checkCompact(t *testing.T, dir string, given *dataset.Dataset, used int) {
	t.Helper()
	d, err := Load(dir, dataset.Options{Compact: true})
	if err != nil {
		t.Fatal(err)
	}
	if d.Graph.Rows() != used || d.Graph.Edges() != given.Graph.Edges() || (d.IDs == nil) != (used == given.Graph.Rows()) {
		t.Fatalf("%s: %d vertices, %d edges, want %d, %d", dir, d.Graph.Rows(), d.Graph.Edges(), used, given.Graph.Edges())
	}
	id := func(v int) int64 {
		if d.IDs == nil {
			return int64(v)
		}
		return d.IDs[v]
	}
	for v := range used {
		want := given.Graph.Row(int(id(v)))
		for k, u := range d.Graph.Row(v) {
			if id(int(u)) != int64(want[k]) {
				t.Fatalf("%s: vertex %d (%d): neighbour %d is %d, want %d", dir, v, id(v), k, id(int(u)), want[k])
			}
		}
	}
}

// lineEnd is a carriage return that ends a line alone.
var lineEnd = regexp.MustCompile("\r([^\r\n])")

// twin reads an edge list of numbers without a header the plain way: lines, fields, Atoi. sure is false where there is more in the text.
func twin(text string) (edges [][2]int64, weights map[[2]int64]float32, ok, sure bool) {
	weights = map[[2]int64]float32{}
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	if strings.Contains(text, "\x00") || strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return nil, nil, false, true
	}
	for old := ""; old != text; {
		old, text = text, lineEnd.ReplaceAllString(text, "\n$1")
	}
	sure, ok = true, true
	count := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' || line[0] == '%' {
			continue
		}
		sure = sure && strings.Trim(line, "0123456789+-.,; \t\r") == "" && !padded.MatchString(line)
		if count == 0 && numberHeader.MatchString(line) {
			return nil, nil, false, false
		}
		if sep := separator.FindAllString(line, 3); len(sep) == 2 {
			if end := strings.TrimSpace(sep[1]); end != "" && end == strings.TrimSpace(sep[0]) && strings.HasSuffix(line, end) {
				line = strings.TrimRight(line, ",; \t\r") // without the empty column at its end
			}
		}
		separators := separator.FindAllString(line, -1)
		all := separator.Split(line, -1)
		for i, s := range separators {
			separators[i] = strings.Trim(s, " \t\r")
		}
		slices.Sort(separators)
		ok = ok && len(slices.Compact(separators)) == 1 && (len(all) == 2 || len(all) == 3) && (count == 0 || count == len(all))
		count = len(all)
		if !ok {
			continue
		}
		weight := float32(1)
		if len(all) == 3 {
			w, err := strconv.ParseFloat(all[2], 32)
			ok = ok && err == nil && len(all[2]) <= 64
			weight = float32(w)
		}
		var e [2]int64
		for k := range e {
			whole, zeros, _ := strings.Cut(all[k], ".")
			v, err := strconv.ParseUint(whole, 10, 62)
			ok = ok && err == nil && len(whole) <= textfile.MaxDigits && strings.Trim(zeros, "0") == ""
			e[k] = int64(v)
		}
		edges = append(edges, e)
		weights[e] += weight
	}
	for _, w := range weights {
		ok = ok && !math.IsInf(float64(w), 0) && w == w
	}
	return edges, weights, ok && len(edges) > 0, sure
}

// numberHeader is a header of pandas with an index, whose lines have a field more than the twin knows.
var numberHeader = regexp.MustCompile(`^[,;][ \t]*0`)

// padded is a number that begins with a 0, as codes do: ids are names then.
var padded = regexp.MustCompile(`(^|[,; \t\r])0[0-9]`)

var separator = regexp.MustCompile("[ \t\r]*[,;][ \t\r]*|[ \t\r]+")

func TestToyEdgeList(t *testing.T) {
	const plain = "# comment\r\n0\t1\r\n\r\n 2 1 \r\n0 1\r\n4,4\n#end\n1 , 0"
	for name, b := range map[string][]byte{
		"a.txt": []byte(plain), "a.txt.gz": []byte(datatest.Gzip(t, plain)), "a.csv": []byte("\xef\xbb\xbffrom,to\n0,1\n2,1\n0,1\n4,4\n1,0\n"), "edges.csv": []byte("\"from\"\t\"to\"\n" + plain),
		"a.tsv": []byte("_u v w\n0 1 1\n2 1 1.0\n0 1 1e0\n4 4 1\n1 0 1"), "a.el": []byte(plain + "\n"),
	} {
		dir := datatest.Put(t, map[string][]byte{name: b, "README": []byte("text"), "readme.txt": []byte("text")})
		for _, path := range []string{dir, filepath.Join(dir, name)} {
			d, err := Load(path, dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := [][]int32{{1}, {0, 2}, {}, {}, {4}}
			for v, row := range want {
				if d.Graph.Rows() != 5 || !slices.Equal(d.Graph.Row(v), row) {
					t.Errorf("%s: row %d of %d is %v, want %v", name, v, d.Graph.Rows(), d.Graph.Row(v), row)
				}
			}
			if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, noteMerged(1)) || !strings.Contains(notes, "1 of 5 vertices have no edge") {
				t.Errorf("%s: notes %q", name, notes)
			}
			c, err := Load(path, dataset.Options{Compact: true})
			if err != nil || c.Graph.Rows() != 4 || !slices.Equal(c.IDs, []int64{0, 1, 2, 4}) || !slices.Equal(c.Graph.Row(3), []int32{3}) {
				t.Errorf("%s: compacted %+v, %v", name, c, err)
			}
		}
	}
	big, err := Load(filepath.Join(datatest.Put(t, map[string][]byte{"b.txt": []byte("900000000000000000 7\n7 4000000000\n")}), "b.txt"), dataset.Options{Compact: true})
	if err != nil || !slices.Equal(big.IDs, []int64{7, 4000000000, 900000000000000000}) || !slices.Equal(big.Graph.Row(0), []int32{2}) || !slices.Equal(big.Graph.Row(1), []int32{0}) {
		t.Errorf("got %+v, %v", big, err)
	}
}

// TestEdgeListWeights: of an edge that is listed again weights are added up, and the reverse of one that is listed in one direction weighs as much; loops keep theirs.
func TestEdgeListWeights(t *testing.T) {
	const text = "a b w\n0 1 0.5\n1 0 2\n2 0 -1\n0 1 .25\n2 2 4\n9 2 1\n"
	dir := datatest.Put(t, map[string][]byte{"edges.csv": []byte(text)})
	for _, c := range []struct {
		o    dataset.Options
		want map[[2]int32]float32
	}{
		{dataset.Options{Compact: true}, map[[2]int32]float32{{0, 1}: 0.75, {1, 0}: 2, {2, 0}: -1, {2, 2}: 4, {3, 2}: 1}},
		{dataset.Options{Edges: dataset.Reversed}, map[[2]int32]float32{{1, 0}: 0.75, {0, 1}: 2, {0, 2}: -1, {2, 2}: 4, {2, 9}: 1}},
		{dataset.Options{Edges: dataset.Symmetric}, map[[2]int32]float32{{0, 1}: 0.75, {1, 0}: 2, {2, 0}: -1, {0, 2}: -1, {2, 2}: 4, {9, 2}: 1, {2, 9}: 1}},
		{dataset.Options{IgnoreWeights: true}, nil},
	} {
		d, err := Load(dir, c.o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[[2]int32]float32{}
		for v := range int32(d.Graph.Rows()) {
			for _, u := range d.Graph.Row(int(v)) {
				got[[2]int32{u, v}] = d.Graph.Weight(u, v)
			}
		}
		noted := strings.Contains(strings.Join(d.Notes, "\n"), `column "w" is read as weights`)
		if noted != (c.want != nil) || c.want != nil && !maps.Equal(got, c.want) || c.want == nil && d.Graph.Weights != nil {
			t.Errorf("%+v: weights %v, notes %q, want %v", c.o, got, d.Notes, c.want)
		}
	}
}

func TestEdgeListFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "holds no edges",
		"# only\n\n":                     "holds no edges",
		"0 1\n2\n":                       "byte 5: line 2: the line ends here, want the id of the vertex where",
		"0 1\n2,":                        "byte 6: line 2: the line ends here, want a vertex id (a number from 0 on; names become numbers with data tables)",
		"0;1\n;\n1;2":                    "byte 4: line 2: found ';', want a vertex id (a number from 0 on; names become numbers with data tables); lines without any field are left out by data tables",
		"0,1\n2e+06,1":                   "byte 5: line 2: found 'e', want a comma, a blank or the end of the line (of a number such as 2e+06 write all digits)",
		"0;1;0,5":                        "byte 5: line 1: fields stand between semicolons and between commas in one line: write decimal commas as points, and put one character between all fields (of a table whose first line names the columns, data tables reads decimal commas)",
		"0 1\n\n2 x":                     "byte 7: line 3: found 'x', want a vertex id (a number from 0 on; names become numbers with data tables)",
		"0 1\n-2 1":                      "byte 4: line 2: found '-', want a vertex id (a number from 0 on; names become numbers with data tables)",
		"0 1\n1.5 1":                     "byte 4: line 2: found a number that is not whole, want a vertex id",
		";0;1\n;5;3":                     "byte 0: line 1: this line and the next begin with an empty field: delete the first column",
		"0,,1":                           "byte 2: line 1: found ',', want a vertex id (a number from 0 on; names become numbers with data tables)",
		"0 1 1e39":                       "byte 4: line 1: value 1e39 does not fit float32",
		"0 1 nan":                        "byte 4: line 1: the edge has the weight NaN; weights must be finite",
		"0 1 3e38\n0 1 3e38":             "the weights of the edge 0 → 1, which is there more than once, add up to +Inf",
		"0 1 1 1":                        "byte 6: line 1: found '1', want the end of the line",
		"0 1 0x1":                        `found "0x1", want a number`,
		"0 1\n1 2147483646":              "byte 6: line 2: vertex id 2147483646 is above 2147483645; ids this large must be compacted",
		"0 9999999999999999999":          "byte 2: line 1: found a number of more than 18 digits",
		"0 1\n1 2147483645\n1 2\n":       "byte 6: line 2: vertex id 2147483645 is too large for 3 edges (at most 1048832 vertices, 64 for each edge and 1048576): compact the ids",
		"0 1\x00":                        "byte 3: line 1: found a zero byte, which no text has: save text of UTF-16 as UTF-8",
		"0 1\n" + "\xff\xfe":             "line 2: found 'ÿ'",
		"0 1 " + strings.Repeat("1", 99): "found a field of more than 64 characters",
	} {
		dir := datatest.Put(t, map[string][]byte{"a.txt": []byte(text)})
		_, err := Load(dir, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), filepath.Join(dir, "a.txt")) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	dir := datatest.Put(t, map[string][]byte{"a.txt": []byte("0 1"), "b.txt": []byte("0 1")})
	if _, err := Load(dir, dataset.Options{}); err == nil || !strings.Contains(err.Error(), "several text files (a.txt b.txt)") {
		t.Errorf("got %v", err)
	}
}

// TestDamagedGzip cuts and flips a compressed list: one line with the file; a cut one is never read.
func TestDamagedGzip(t *testing.T) {
	var s strings.Builder
	for i := range 200 {
		fmt.Fprintf(&s, "%d\t%d\r\n", i, i*i%97)
	}
	damage(t, map[string][]byte{"a.txt.gz": []byte(datatest.Gzip(t, s.String()))})
	good := []byte(datatest.Gzip(t, s.String()))
	for n, want := range map[int]string{len(good) / 2: "truncated", len(good) - 1: "truncated", 5: "truncated"} {
		dir := datatest.Put(t, map[string][]byte{"a.txt.gz": good[:n]})
		if _, err := Load(dir, dataset.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cut to %d: got %v", n, err)
		}
	}
	good[len(good)-5] ^= 1 // CRC-32
	if _, err := Load(datatest.Put(t, map[string][]byte{"a.txt.gz": good}), dataset.Options{}); err == nil || !strings.Contains(err.Error(), "invalid checksum") {
		t.Errorf("got %v", err)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestEdgeListAllocation: an id costs nothing by itself, a line costs no allocation, and a bomb ends early.
func TestEdgeListAllocation(t *testing.T) {
	// 256 KiB of text, 256 KiB of edges and the readers' own buffers, 64 and 40 KiB, stay under 1 MiB.
	path := filepath.Join(datatest.Put(t, map[string][]byte{"a.txt": []byte("0 2147483645\n")}), "a.txt")
	if got := allocated(func() { Load(path, dataset.Options{}) }); got > 1<<20 {
		t.Errorf("one edge with a large id: %d bytes", got)
	}
	var s strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&s, "%d %d\n", i/10, i%997)
	}
	if got := testing.AllocsPerRun(1, func() {
		x, err := textfile.NewReader("a", strings.NewReader(s.String()), int64(s.Len()))
		if err == nil {
			err = (&edgeText{t: x, n: -1}).each(func(_, _ int64, _ float32) error { return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}); got > 50 {
		t.Errorf("%g allocations for 100,000 lines", got)
	}
	bomb := []byte(datatest.Gzip(t, strings.Repeat("1 1\n", 64<<20/4))) // 64 KiB
	path = filepath.Join(datatest.Put(t, map[string][]byte{"a.txt.gz": bomb}), "a.txt.gz")
	var err error
	// Of 32 MiB of text come 8 Mi edges of 8 bytes.
	if got := allocated(func() { _, err = Load(path, dataset.Options{}) }); err == nil || !strings.Contains(err.Error(), "inflate to more than") || got > 80<<20 {
		t.Errorf("%d bytes allocated for %d, %v", got, len(bomb), err)
	}
}

// FuzzEdgeList: what is accepted is what the twin reads, and the other way round.
func FuzzEdgeList(f *testing.F) {
	for _, s := range []string{"# c\r\n0\t1\r\n", "a,b\n1,2\n1 , 2\n", "0 1 1.0\n3 4", "0,,1", "9999999999 0", "nan 1", "0 1\n\"a\"", "a b\nb c\n", "u;v;w\n0;1;2\n", "0 1 {}\r1 2 {}", "% c\n0.0;1.;2\n", "x,y\np,q\n", "1 2\n#1 2\n007 7\n"} {
		f.Add([]byte(s), false)
		f.Add([]byte(datatest.Gzip(f, s)), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, compact bool) {
		edges, weights, ok, sure := twin(string(b))
		large := false
		for _, e := range edges {
			large = large || max(e[0], e[1]) >= 1<<16
		}
		if large && !compact {
			return // a million row pointers take longer than they find
		}
		x, err := textfile.NewReader("c.txt", bytes.NewReader(b), int64(len(b)))
		var d dataset.Dataset
		if err == nil {
			err = readEdgeList(&d, x, false, dataset.Options{Compact: compact})
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "c.txt: ") || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("no place, or more than one line: %q", err)
		}
		if err == nil {
			if err := d.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) || !sure {
			return
		}
		if ok != (err == nil) {
			t.Fatalf("the twin accepts: %v, the reader: %v", ok, err)
		}
		if !ok {
			return
		}
		vertex := func(id int64) graph.NodeID {
			if d.IDs == nil {
				return graph.NodeID(id)
			}
			v, _ := slices.BinarySearch(d.IDs, id)
			return graph.NodeID(v)
		}
		distinct := map[[2]int64]bool{}
		for _, e := range edges {
			distinct[e] = true
			if _, found := slices.BinarySearch(d.Graph.Row(int(vertex(e[1]))), vertex(e[0])); !found {
				t.Fatalf("edge %v is missing", e)
			}
			if got := d.Graph.Weight(vertex(e[0]), vertex(e[1])); d.Graph.Weights != nil && got != weights[e] {
				t.Fatalf("edge %v weighs %g, want %g", e, got, weights[e])
			}
		}
		if int(d.Graph.Edges()) != len(distinct) {
			t.Fatalf("%d edges, want %d", d.Graph.Edges(), len(distinct))
		}
	})
}
