//go:build cuda

package fake

import "fmt"

// spmmKernels are those of sums over neighbours, with the columns of a tile and the elements of a load.
var spmmKernels = []struct {
	name        string
	width, load int
}{
	{"f16", 16, 4}, {"f32", 32, 4}, {"f64", 64, 4}, {"f128", 128, 4}, {"f256", 256, 4}, {"fs64", 64, 1}, {"fs256", 256, 1},
	{"b32", 32, 8}, {"b64", 64, 8}, {"b128", 128, 8}, {"b256", 256, 8}, {"bs64", 64, 1}, {"bs256", 256, 1},
}

// graph is a graph of rows of 0, 1, 2, … entries, and of hubs of 1500; columns are below 29.
func (s *script) graph(rows int) {
	s.buffer("begin", 8*rows, "longs", 0, rows)
	s.buffer("end", 8*rows, "longs", 0, rows+1)
	s.buffer("many", 8*rows, "longs", 0, 1500)
	s.buffer("more", 8*rows, "longs", 1500, 1500)
	s.buffer("indices", 4*3000, "cycle", 29)
	s.buffer("val", 4*3000, "random")
	s.buffer("list", 4*rows, "ints", 1, 2)
	s.buffer("ids", 4*2*rows, "ints", 5, 3)
}

const reachRows = 20

// sumReaches are sums over neighbours by every kernel, alone and with all that may follow.
func sumReaches() []reach {
	var list []reach
	for _, k := range spmmKernels {
		for _, cols := range []int{k.width, k.width - 1, 2*k.width - k.load} {
			list = append(list, reach{fmt.Sprintf("spmm_%s_%d", k.name, cols), "spmm_" + k.name, sum(k.name, cols, k.width, k.load, false), true})
		}
		list = append(list, reach{fmt.Sprintf("spmm_%s_hubs", k.name), "spmm_" + k.name, sum(k.name, k.width, k.width, k.load, true), true})
	}
	return list
}

func sum(kernel string, cols, tile, load int, hubs bool) string {
	s := &script{}
	ld := (cols + load - 1) / load * load
	if load == 1 {
		ld++
	}
	wide := 2 * reachRows * ld
	s.graph(reachRows)
	s.rows(wide)
	s.buffer("vec", 4*max(wide/reachRows, 2*reachRows), "random")
	s.buffer("out", 4*2*reachRows)
	s.buffer("h", 4*wide)
	s.buffer("hb", 2*wide)
	x, y, half := "@x", "@y", "@yb"
	if kernel[0] == 'b' {
		x = "@xb"
	}
	begin, end, hubBlocks, stored := "@begin", "@end", 0, reachRows
	if hubs {
		begin, end, hubBlocks, stored = "@many", "@more", 1, 2
	}
	launch := func(y string, flags int, list any, units int, val, rowScale, colScale, bias, beta any, epilogue ...any) {
		if len(epilogue) == 0 {
			epilogue = []any{0, 0, 0, 0, 0, 0, "0.0", 0, 0, "0.0", 0, 0}
		}
		s.line(append([]any{"launch", "capgnn_spmm_" + kernel, hubBlocks + (units+7)/8, (cols + tile - 1) / tile, 256, 0, y, ld, x, ld, cols, tile, flags,
			begin, end, "@indices", list, stored, val, units, hubBlocks, rowScale, colScale, bias, beta}, epilogue...)...)
	}
	launch(y, 0, 0, stored, 0, 0, 0, 0, "0.0")
	launch(y, 0, 0, stored, "@val", 0, 0, 0, "0.0")
	launch(y, 0, 0, stored, 0, 0, "@vec", 0, "0.5")
	launch(y, 0, 0, stored, "@val", "@vec", "@vec", "@vec", "0.5")
	launch(y, 0, "@list", stored, 0, "@vec", 0, 0, "1.0")
	launch(y, 2, "@list", 2*stored, 0, 0, "@vec", "@vec", "0.0")
	launch(y, 2, "@list", 2*stored, "@val", 0, 0, 0, "0.5")
	launch(half, 1, 0, stored, 0, 0, 0, 0, "0.0")
	launch(half, 1, 0, stored, "@val", "@vec", "@vec", "@vec", "0.0")
	if load > 1 && cols <= tile {
		for _, flags := range []int{16 | 2, 16 | 1 | 2, 16 | 4, 16 | 7, 16 | 15} {
			h := "@h"
			if flags&8 != 0 {
				h = "@hb"
			}
			launch(y, 0, 0, stored, 0, "@vec", 0, "@vec", "0.0", flags, h, ld, "@vec", "@vec", "@out", "0.00001", "@ids", 2147483648, "2.0", 99, 3)
			launch(y, 2, "@list", 2*stored, "@val", 0, 0, 0, "0.0", flags, h, ld, "@vec", "@vec", 0, "0.00001", "@ids", 2147483648, "2.0", 99, 3)
		}
	}
	return s.String()
}
