//go:build cuda

package cuda

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// Grids hold a thread, a warp or a block for all there is to do, and no more blocks than a GPU keeps busy.
func TestGrids(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want dim
	}{
		{"no rows", rowPieces(0, 10), dim{0, 1}},
		{"no columns", rowPieces(10, 0), dim{0, 1}},
		{"a piece", rowPieces(1, 1), dim{1, 1}},
		{"a warp each", rowPieces(warps, segment), dim{1, 1}},
		{"a warp more", rowPieces(warps+1, segment), dim{2, 1}},
		{"two pieces of a row", rowPieces(warps, segment+1), dim{2, 1}},
		{"as many blocks as there may be", rowPieces(mostGrid*warps, 1), dim{mostGrid, 1}},
		{"more rows than that", rowPieces(mostGrid*warps+1, 1), dim{mostGrid, 1}},
		{"more pieces than an int32", rowPieces(1<<31-1, 1<<20), dim{mostGrid, 1}},
		{"rows by warps", rowWarps(warps + 1), dim{2, 1}},
		{"more rows by warps", rowWarps(1 << 30), dim{mostGrid, 1}},
		{"elements", perElement(blockSize + 1), dim{2, 1}},
		{"more elements", perElement(1 << 30), dim{mostGrid, 1}},
		{"rows of attention behind hubs", gatGrid(3, warps+1, 5), dim{5, 5}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// The parts of a sum cover the rows, none is empty, and they are bounded in number.
func TestParts(t *testing.T) {
	for _, rows := range []int{0, 1, partRows, partRows + 1, mostParts * partRows, mostParts*partRows + 1, 100_003, 1 << 28} {
		count, step := parts(rows)
		if count > mostParts || count*step < rows || rows > 0 && (count-1)*step >= rows || rows == 0 && count != 0 {
			t.Errorf("%d rows: %d parts of %d", rows, count, step)
		}
		if rows > partRows && step < partRows/2 {
			t.Errorf("%d rows: parts of %d are too short", rows, step)
		}
	}
}

// Matrices without gaps are one long row; one with gaps keeps all of them as they are.
func TestFlat(t *testing.T) {
	plain, gaps, row := gpu.Matrix{Rows: 3, Cols: 5, LD: 5}, gpu.Matrix{Rows: 3, Cols: 5, LD: 6}, gpu.Matrix{Rows: 1, Cols: 5, LD: 9}
	for _, c := range []struct{ in, want []gpu.Matrix }{
		{[]gpu.Matrix{plain, plain}, []gpu.Matrix{{Rows: 1, Cols: 15, LD: 15}, {Rows: 1, Cols: 15, LD: 15}}},
		{[]gpu.Matrix{plain, gaps}, []gpu.Matrix{plain, gaps}},
		{[]gpu.Matrix{gaps, plain}, []gpu.Matrix{gaps, plain}},
		{[]gpu.Matrix{row}, []gpu.Matrix{{Rows: 1, Cols: 5, LD: 5}}},
	} {
		if got := flat(slices.Clone(c.in)...); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v became %v, want %v", c.in, got, c.want)
		}
	}
}

// Loads of 16 bytes need rows that begin at multiples of it, and a block that does not end within the last one.
func TestAlignment(t *testing.T) {
	for _, c := range []struct {
		m    gpu.Matrix
		want bool
	}{
		{gpu.Matrix{Rows: 2, Cols: 4, LD: 4}, true},
		{gpu.Matrix{Rows: 2, Cols: 3, LD: 3}, false},
		{gpu.Matrix{Rows: 1, Cols: 3, LD: 3}, true},
		{gpu.Matrix{Off: 2, Rows: 1, Cols: 4, LD: 4}, false},
		{gpu.Matrix{Off: 8, Rows: 2, Cols: 8, LD: 8, Type: gpu.BF16}, true},
		{gpu.Matrix{Rows: 2, Cols: 4, LD: 4, Type: gpu.BF16}, false},
	} {
		if got := aligned(c.m, 16); got != c.want {
			t.Errorf("%+v is aligned: %v, want %v", c.m, got, c.want)
		}
	}
	for _, c := range []struct {
		bytes gpu.Bytes
		ld    int
		want  bool
	}{{4 * 4 * 12, 12, true}, {4 * (3*12 + 9), 12, false}, {4 * (3*12 + 11), 12, false}, {4 * 4 * 8, 8, false}} {
		block := &buffer{size: c.bytes}
		s := spmmArgs{y: gpu.Matrix{Rows: 4, Cols: 9, LD: 12}, x: gpu.Matrix{Buf: block, Rows: 4, Cols: 9, LD: c.ld}, a: gpu.CSR{Rows: 4, Cols: 4}}
		if got := s.vectors(); got != c.want {
			t.Errorf("9 columns %d apart in %d bytes: whole loads %v, want %v", c.ld, c.bytes, got, c.want)
		}
	}
}

// A tile is a head, in the narrowest kernel that holds it; a wider head is cut. Rows that are not aligned, or end with their block, take single loads.
func TestGATTiles(t *testing.T) {
	block := &buffer{size: 1 << 20}
	for _, c := range []struct {
		heads, channels, ld int
		want                gatTiles
	}{
		{1, 64, 64, gatTiles{"_64", 1, 1}}, {4, 64, 256, gatTiles{"_64", 1, 4}}, {8, 8, 64, gatTiles{"_16", 1, 8}}, {3, 20, 60, gatTiles{"_32", 1, 3}},
		{2, 256, 512, gatTiles{"_64", 4, 8}}, {2, 100, 200, gatTiles{"_64", 2, 4}}, {1, 41, 48, gatTiles{"_64", 1, 1}}, {1, 41, 41, gatTiles{"_s64", 1, 1}},
		{1, 129, 132, gatTiles{"_64", 3, 3}}, {2, 41, 96, gatTiles{"_s64", 1, 2}}, {8, 7, 56, gatTiles{"_s8", 1, 8}}, {3, 130, 392, gatTiles{"_s64", 3, 9}},
	} {
		m := gpu.Matrix{Buf: block, Rows: 4, Cols: c.heads * c.channels, LD: c.ld}
		if got := gatTilesOf(c.heads, c.channels, m, gpu.Matrix{}); got != c.want {
			t.Errorf("%d heads of %d columns, rows %d apart: %+v, want %+v", c.heads, c.channels, c.ld, got, c.want)
		}
	}
	for _, c := range []struct {
		heads, channels, ld int
		want                gatTiles
	}{
		{4, 64, 256, gatTiles{"_64", 1, 4}}, {8, 8, 64, gatTiles{"_16", 1, 8}}, {3, 20, 60, gatTiles{"_64", 1, 3}}, {2, 256, 512, gatTiles{"_256", 1, 2}},
		{1, 300, 300, gatTiles{"_256", 2, 2}}, {4, 41, 164, gatTiles{"_s48", 1, 4}}, {1, 8, 9, gatTiles{"_s8", 1, 1}}, {3, 130, 392, gatTiles{"_s128", 2, 6}},
	} {
		m := gpu.Matrix{Buf: block, Rows: 4, Cols: c.heads * c.channels, LD: c.ld}
		if got := gatv2TilesOf(c.heads, c.channels, m, gpu.Matrix{}); got != c.want {
			t.Errorf("GATv2: %d heads of %d columns, rows %d apart: %+v, want %+v", c.heads, c.channels, c.ld, got, c.want)
		}
	}
	last := gpu.Matrix{Buf: &buffer{size: 4 * (48 + 41)}, Rows: 2, Cols: 41, LD: 48}
	odd := gpu.Matrix{Buf: block, Off: 2, Rows: 2, Cols: 64, LD: 64}
	for _, m := range []gpu.Matrix{last, odd} {
		if got := gatTilesOf(1, m.Cols, m); got.kernel != "_s64" {
			t.Errorf("kernel %s for rows that 16 bytes cannot be loaded of", got.kernel)
		}
	}
	d := &device{sms: 10}
	for entries, want := range map[int64]int{0: 0, hub: 0, hub + 1: 1, 5 * (hub + 1): 5, 1 << 40: 20} {
		if got := d.hubBlocks(entries); got != want {
			t.Errorf("%d entries: %d blocks for hubs, want %d", entries, got, want)
		}
	}
}

// Products choose their kernel, and whether the inner dimension is cut, by shape.
func TestProductChoices(t *testing.T) {
	configure(t, "mem=16")
	d := open(t, Spec{})
	for _, c := range []struct {
		name    string
		m, n, k int
		transA  bool
		want    string // the launches
	}{
		{"small", 64, 64, 10, false, "nn64"},
		{"few large tiles", 128 * 100, 128, 10, false, "nn64"},
		{"many large tiles", 128 * 256, 128, 10, false, "nn128"},
		{"many rows, few columns", 128 * 1000, 64, 10, false, "nn64"},
		{"columns for a tile and a half", 128 * 256, 100, 10, false, "nn64"},
		{"a sum over few rows", 64, 64, splitDepth, true, "tn64"},
		{"a sum over more rows", 64, 64, splitDepth + 1, true, "tn64 add_parts"},
		{"a sum over many rows", 128, 128, 10_000, true, "tn128 add_parts"},
		{"a large result", 4096, 8192, 10_000, true, "tn128"},
		{"no result", 0, 64, 10, true, ""},
	} {
		q := d.NewQueue(c.name).(*queue)
		q.begin("Gemm", gpu.PhaseMM)
		q.multiply(product{c: gpu.Matrix{Rows: c.m, Cols: c.n, LD: c.n}, m: c.m, n: c.n, k: c.k, transA: c.transA})
		if got := launches(q); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// launches takes the kernels off that a queue has not handed over yet, and names them.
func launches(q *queue) string {
	var names []string
	for _, c := range q.batch {
		name := c.op[strings.LastIndexByte(c.op, ' ')+1:]
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, "capgnn_"), "gemm_"))
	}
	q.batch = nil
	return strings.Join(names, " ")
}

// Aggregations count entries by columns; of attention over some rows, their share.
func TestCountedEntries(t *testing.T) {
	configure(t, "mem=16;n=1")
	d := open(t, Spec{})
	q := d.NewQueue("q").(*queue)
	const rows, entries, cols, heads = 4, 8, 6, 2
	begin, end, idx := alloc(t, d, 8*rows, "begin"), alloc(t, d, 8*rows, "end"), alloc(t, d, 4*entries, "indices")
	q.Upload(begin, 0, hostmem.Bytes([]int64{0, 2, 4, 6}))
	q.Upload(end, 0, hostmem.Bytes([]int64{2, 4, 6, 8}))
	q.Upload(idx, 0, hostmem.Bytes([]int32{0, 1, 1, 2, 2, 3, 3, 0}))
	a := gpu.CSR{Rows: rows, Cols: rows, Begin: gpu.Array[int64]{Buf: begin, Len: rows}, End: gpu.Array[int64]{Buf: end, Len: rows},
		Indices: gpu.Ints{Buf: idx, Len: entries}, Entries: entries}
	matrix := func(cols int) gpu.Matrix {
		m := gpu.Matrix{Buf: alloc(t, d, 4*rows*cols, "m"), Rows: rows, Cols: cols, LD: cols}
		q.Fill(m, 1)
		return m
	}
	x, y, s, dst, lse := matrix(cols), matrix(cols), matrix(heads), matrix(heads), matrix(heads)
	want := int64(0)
	check := func(what string, more int64) {
		t.Helper()
		want += more
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		if u := q.Usage(); u.SpMM != want {
			t.Errorf("%s: %d entries × columns counted in all, want %d", what, u.SpMM, want)
		}
	}
	q.Aggregate(gpu.AggregateArgs{Y: y, A: a, X: x})
	check("a sum over neighbours", entries*cols)
	gat := gpu.GATArgs{O: y, LSE: lse, Inner: a, T: x, S: s, D: dst, Slope: 0.2}
	for _, part := range [][2]int{{0, 4}, {0, 1}, {1, 3}, {3, 4}, {2, 2}} {
		gat.Lo, gat.Hi = part[0], part[1]
		q.GATAggregate(gat)
		check(fmt.Sprint("attention over rows ", part), int64(part[1]-part[0])*entries/rows*cols)
	}
	q.SpMM(y, a, x, 0)
	check("a product of features, which is no sum over neighbours", 0)
}
