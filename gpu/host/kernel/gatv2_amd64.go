//go:build !noasm

package kernel

// gatv2SlopesFunc and gatv2MomentsFunc make rows of gradients of scores; see gen/gatv2.go.
type (
	gatv2SlopesFunc = func(seg *int64, count int, idx *int32, x *float32, ldx uintptr, xrow *float32, ldxrow uintptr, head *int32, step uintptr, last int,
		slope float32, att, w1, sum *float32, ldsum uintptr)
	gatv2MomentsFunc = func(seg *int64, count int, idx *int32, x *float32, ldx uintptr, xrow *float32, ldxrow uintptr, head *int32, step uintptr, last int,
		slope float32, att, w1, sum *float32, ldsum uintptr, all *float32, ldall uintptr, moment *float32, ldmoment uintptr)
)

// The slope kernels by width in vectors.
var (
	gatv2Slopes512  = []gatv2SlopesFunc{1: gatv2512slopes1, 2: gatv2512slopes2, 3: gatv2512slopes3, 4: gatv2512slopes4}
	gatv2Slopes256  = []gatv2SlopesFunc{1: gatv2256slopes1, 2: gatv2256slopes2}
	gatv2Moments512 = []gatv2MomentsFunc{1: gatv2512moments1, 2: gatv2512moments2, 3: gatv2512moments3, 4: gatv2512moments4}
	gatv2Moments256 = []gatv2MomentsFunc{1: gatv2256moments1, 2: gatv2256moments2}
)

// scores is scoresGo.
func (w *attention) scores(list []gatSegment, idx []int32, x gatv2Pair, y *gatv2Pair, att []float32, slope float32) {
	if Active == generic {
		w.scoresGo(list, idx, x, y, att, slope)
		return
	}
	lanes, one, two := 16, gatv2512scores, gatv2512scores2
	if Active == avx2 {
		lanes, one, two = 8, gatv2256scores, gatv2256scores2
	}
	rest := uintptr(4 * (w.channels % lanes))
	whole := 4*uintptr(w.channels) - rest
	prefetched(list, idx, gatAhead(x.of.Cols), func(list []gatSegment, ahead int) {
		if y == nil {
			one(&list[0].from, len(list), first(idx), ahead, uintptr(w.heads), whole, rest, 4*uintptr(w.stride), slope, &att[0], first(x.of.V), x.of.bytes(),
				&x.row.V[0], x.row.bytes(), &w.weight[0][0])
			return
		}
		two(&list[0].from, len(list), first(idx), ahead, uintptr(w.heads), whole, rest, 4*uintptr(w.stride), slope, &att[0], first(x.of.V), x.of.bytes(),
			&x.row.V[0], x.row.bytes(), &w.weight[0][0], first(y.of.V), y.of.bytes(), &y.row.V[0], y.row.bytes(), &w.weight[1][0])
	})
}

// softmaxOfScores is softmaxOfScoresGo.
func (w *attention) softmaxOfScores(list []gatSegment, lse Dense) {
	kernel := gatv2512softmax
	switch Active {
	case generic:
		w.softmaxOfScoresGo(list, lse)
		return
	case avx2:
		kernel = gatv2256softmax
	}
	kernel(&list[0].from, len(list), w.heads, w.stride, &w.weight[0][0], &w.state[0], &w.factors[0], &lse.V[0], lse.bytes())
}

// gradOfScoresDst is gradOfScoresDstGo.
func (w *attention) gradOfScoresDst(list []gatSegment, lse, grad Dense) {
	kernel := gatv2512gradDst
	switch Active {
	case generic:
		w.gradOfScoresDstGo(list, lse, grad)
		return
	case avx2:
		kernel = gatv2256gradDst
	}
	kernel(&list[0].from, len(list), &lse.V[0], lse.bytes(), &grad.V[0], grad.bytes(), w.heads, w.stride, &w.weight[0][0], &w.weight[1][0])
}

// gradOfScoresSrc is gradOfScoresSrcGo.
func (w *attention) gradOfScoresSrc(list []gatSegment, idx []int32, lse, grad Dense) {
	kernel := gatv2512gradSrc
	switch Active {
	case generic:
		w.gradOfScoresSrcGo(list, idx, lse, grad)
		return
	case avx2:
		kernel = gatv2256gradSrc
	}
	kernel(&list[0].from, len(list), first(idx), first(lse.V), lse.bytes(), first(grad.V), grad.bytes(), w.heads, w.stride,
		&w.weight[0][0], &w.weight[1][0], &w.weight[2][0], &w.weight[3][0])
}

// slopes is slopesGo.
func (w *attention) slopes(list []gatSegment, idx []int32, x gatv2Pair, att []float32, slope float32, sum Dense) {
	if Active == generic {
		w.slopesGo(list, idx, x, att, slope, sum)
		return
	}
	lanes, table := 16, gatv2Slopes512
	if Active == avx2 {
		lanes, table = 8, gatv2Slopes256
	}
	for col := 0; col < sum.Cols; {
		n := min((sum.Cols-col+lanes-1)/lanes, len(table)-1)
		width := min(n*lanes, sum.Cols-col)
		table[n](&list[0].from, len(list), first(idx), at(x.of.V, col), x.of.bytes(), &x.row.V[col], x.row.bytes(), &w.head[col], 4*uintptr(w.stride),
			width-(n-1)*lanes, slope, &att[col], &w.weight[1][0], &sum.V[col], sum.bytes())
		col += width
	}
}

// moments is momentsGo.
func (w *attention) moments(list []gatSegment, idx []int32, x gatv2Pair, att []float32, slope float32, sum, moment Dense) {
	if Active == generic {
		w.momentsGo(list, idx, x, att, slope, sum, moment)
		return
	}
	lanes, table := 16, gatv2Moments512
	if Active == avx2 {
		lanes, table = 8, gatv2Moments256
	}
	for col := 0; col < sum.Cols; {
		n := min((sum.Cols-col+lanes-1)/lanes, len(table)-1)
		width := min(n*lanes, sum.Cols-col)
		table[n](&list[0].from, len(list), first(idx), at(x.of.V, col), x.of.bytes(), &x.row.V[col], x.row.bytes(), &w.head[col], 4*uintptr(w.stride),
			width-(n-1)*lanes, slope, &att[col], &w.weight[1][0], &sum.V[col], sum.bytes(), &w.rows.V[col], w.rows.bytes(), &moment.V[col], moment.bytes())
		col += width
	}
}
