//go:build !noasm

package kernel

import "sort"

// gatSumFunc sums one weighted set of rows, gatPairFunc two; see gen/gat_sum.go.
type (
	gatSumFunc = func(seg *int64, count int, idx *int32, x *float32, ldx uintptr, head *int32, step uintptr, last, ahead int,
		w0, y0 *float32, ldy0 uintptr, factors, bias *float32)
	gatPairFunc = func(seg *int64, count int, idx *int32, x *float32, ldx uintptr, head *int32, step uintptr, last, ahead int,
		w0, w1, y0 *float32, ldy0 uintptr, y1 *float32, ldy1 uintptr)
)

// The sum kernels by width in vectors.
var (
	gatSum512 = [17]gatSumFunc{
		1: gat512sum1, 2: gat512sum2, 3: gat512sum3, 4: gat512sum4, 5: gat512sum5, 6: gat512sum6, 7: gat512sum7,
		8: gat512sum8, 12: gat512sum12, 16: gat512sum16,
	}
	gatSum256 = [9]gatSumFunc{
		1: gat256sum1, 2: gat256sum2, 3: gat256sum3, 4: gat256sum4, 5: gat256sum5, 6: gat256sum6, 8: gat256sum8,
	}
	gatPair512 = [9]gatPairFunc{
		1: gat512pair1, 2: gat512pair2, 3: gat512pair3, 4: gat512pair4, 5: gat512pair5, 6: gat512pair6, 7: gat512pair7,
		8: gat512pair8,
	}
	gatPair256 = [6]gatPairFunc{1: gat256pair1, 2: gat256pair2, 3: gat256pair3, 4: gat256pair4, 5: gat256pair5}
)

// bytes returns the row stride of m in bytes.
func (m Dense) bytes() uintptr { return 4 * uintptr(m.LD) }

// softmax is softmaxGo.
func (w *attention) softmax(list []gatSegment, idx []int32, s, d Dense, slope float32, lse Dense) {
	kernel := gat512softmax
	switch Active {
	case generic:
		w.softmaxGo(list, idx, s, d, slope, lse)
		return
	case avx2:
		kernel = gat256softmax
	}
	kernel(&list[0].from, len(list), first(idx), first(s.V), s.bytes(), &d.V[0], d.bytes(), slope, w.heads, w.stride,
		&w.weight[0][0], &w.state[0], &w.factors[0], &lse.V[0], lse.bytes())
}

// weightsDst is weightsDstGo.
func (w *attention) weightsDst(list []gatSegment, idx []int32, s, d, lse, grad Dense, slope float32) {
	kernel := gat512weightsDst
	switch Active {
	case generic:
		w.weightsDstGo(list, idx, s, d, lse, grad, slope)
		return
	case avx2:
		kernel = gat256weightsDst
	}
	kernel(&list[0].from, len(list), first(idx), first(s.V), s.bytes(), &d.V[0], d.bytes(), &lse.V[0], lse.bytes(),
		&grad.V[0], grad.bytes(), slope, w.heads, w.stride, &w.weight[0][0], &w.less[0])
}

// weightsSrc is weightsSrcGo.
func (w *attention) weightsSrc(list []gatSegment, s Dense, to *GATTarget, slope float32) {
	kernel := gat512weightsSrc
	switch Active {
	case generic:
		w.weightsSrcGo(list, s, to, slope)
		return
	case avx2:
		kernel = gat256weightsSrc
	}
	kernel(&list[0].from, len(list), first(to.A.Idx), &s.V[0], s.bytes(), first(to.D.V), to.D.bytes(), first(to.LSE.V),
		to.LSE.bytes(), first(to.G.V), to.G.bytes(), slope, w.heads, w.stride, &w.weight[0][0], &w.weight[1][0],
		&w.weight[2][0], &w.less[0])
}

// gatAhead is the distance of the software prefetch, in entries, for rows of cols columns: as spmmArgs.ahead.
func gatAhead(cols int) int { return min(12<<10/(4*min(cols, 256)), 48) }

// prefetched calls f for the segments that may read indices ahead entries behind their last one, then without prefetch for
// the last ones, which may not.
func prefetched(list []gatSegment, idx []int32, ahead int, f func(list []gatSegment, ahead int)) {
	limit := int64(len(idx) - ahead)
	safe := sort.Search(len(list), func(i int) bool { return list[i].from+list[i].n > limit })
	if safe > 0 {
		f(list[:safe], ahead)
	}
	if safe < len(list) {
		f(list[safe:], 0)
	}
}

// sum is sumGo for weights of set 0.
func (w *attention) sum(list []gatSegment, idx []int32, x, y Dense, factors, bias []float32) {
	if Active == generic {
		w.sumGo(0, list, idx, x, y, factors, bias)
		return
	}
	lanes, table := 16, gatSum512[:]
	if Active == avx2 {
		lanes, table = 8, gatSum256[:]
	}
	prefetched(list, idx, gatAhead(y.Cols), func(list []gatSegment, ahead int) {
		for col := 0; col < y.Cols; {
			n := min((y.Cols-col+lanes-1)/lanes, len(table)-1)
			for table[n] == nil {
				n--
			}
			width := min(n*lanes, y.Cols-col)
			table[n](&list[0].from, len(list), first(idx), at(x.V, col), x.bytes(), &w.head[col], 4*uintptr(w.stride),
				width-(n-1)*lanes, ahead, &w.weight[0][0], &y.V[col], y.bytes(), first(factors), at(bias, col))
			col += width
		}
	})
}

// sums is sumGo for y0 with weights of set 0 and y1 with those of set 1, without factors and bias.
func (w *attention) sums(list []gatSegment, idx []int32, x, y0, y1 Dense) {
	if Active == generic {
		w.sumGo(0, list, idx, x, y0, nil, nil)
		w.sumGo(1, list, idx, x, y1, nil, nil)
		return
	}
	lanes, table := 16, gatPair512[:]
	if Active == avx2 {
		lanes, table = 8, gatPair256[:]
	}
	prefetched(list, idx, gatAhead(y0.Cols), func(list []gatSegment, ahead int) {
		for col := 0; col < y0.Cols; {
			n := min((y0.Cols-col+lanes-1)/lanes, len(table)-1)
			width := min(n*lanes, y0.Cols-col)
			table[n](&list[0].from, len(list), first(idx), at(x.V, col), x.bytes(), &w.head[col], 4*uintptr(w.stride),
				width-(n-1)*lanes, ahead, &w.weight[0][0], &w.weight[1][0], &y0.V[col], y0.bytes(), &y1.V[col], y1.bytes())
			col += width
		}
	})
}

// at returns the address of v[i], nil if v is empty.
func at(v []float32, i int) *float32 {
	if len(v) == 0 {
		return nil
	}
	return &v[i]
}

// GATDots is dotsGo.
func GATDots(n int, a, b Dense, bias, less []float32, out Dense) {
	kernel := gat512dots
	switch Active {
	case generic:
		dotsGo(n, a, b, bias, less, out)
		return
	case avx2:
		kernel = gat256dots
	}
	kernel(out.Rows, out.Cols, n, first(a.V), a.bytes(), first(b.V), b.bytes(), first(bias), first(less), &out.V[0], out.bytes())
}

// rows is rowsGo; head holds the heads of the columns.
func (g *GATScoresGrad) rows(lo, hi int, head []int32, dSrc, dDst []float32) {
	if Active == generic {
		g.rowsGo(lo, hi, dSrc, dDst)
		return
	}
	lanes, one, two := 16, gat512scoresGrad, gat512scoresGrad2
	if Active == avx2 {
		lanes, one, two = 8, gat256scoresGrad, gat256scoresGrad2
	}
	t, dt, ds := g.T.RowRange(lo, hi), g.DT.RowRange(lo, hi), g.DS.RowRange(lo, hi)
	for j := 0; j < g.Cols; j += lanes {
		n := min(lanes, g.Cols-j)
		if g.Dst == nil {
			one(hi-lo, g.Heads, n, gatScoresRows, &head[j], &t.V[j], t.bytes(), &dt.V[j], dt.bytes(), &ds.V[0], &g.Src[j], &dSrc[j], ds.bytes())
			continue
		}
		two(hi-lo, g.Heads, n, gatScoresRows, &head[j], &t.V[j], t.bytes(), &dt.V[j], dt.bytes(), &ds.V[0], &g.Src[j], &dSrc[j], ds.bytes(),
			&g.DD.V[lo*g.DD.LD], &g.Dst[j], &dDst[j], g.DD.bytes())
	}
}

// GATMean is meanGo.
func GATMean(heads int, dst, src Dense, bias []float32) {
	kernel := gat512mean
	switch Active {
	case generic:
		meanGo(heads, dst, src, bias)
		return
	case avx2:
		kernel = gat256mean
	}
	kernel(dst.Rows, heads, dst.Cols, &src.V[0], src.bytes(), &dst.V[0], dst.bytes(), first(bias), 1/float32(heads))
}
