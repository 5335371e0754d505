//go:build !amd64 || noasm

package kernel

func (w *attention) softmax(list []gatSegment, idx []int32, s, d Dense, slope float32, lse Dense) {
	w.softmaxGo(list, idx, s, d, slope, lse)
}

func (w *attention) weightsDst(list []gatSegment, idx []int32, s, d, lse, grad Dense, slope float32) {
	w.weightsDstGo(list, idx, s, d, lse, grad, slope)
}

func (w *attention) weightsSrc(list []gatSegment, s Dense, to *GATTarget, slope float32) {
	w.weightsSrcGo(list, s, to, slope)
}

func (w *attention) sum(list []gatSegment, idx []int32, x, y Dense, factors, bias []float32) {
	w.sumGo(0, list, idx, x, y, factors, bias)
}

func (w *attention) sums(list []gatSegment, idx []int32, x, y0, y1 Dense) {
	w.sumGo(0, list, idx, x, y0, nil, nil)
	w.sumGo(1, list, idx, x, y1, nil, nil)
}

func (w *attention) scores(list []gatSegment, idx []int32, x gatv2Pair, y *gatv2Pair, att []float32, slope float32) {
	w.scoresGo(list, idx, x, y, att, slope)
}

func (w *attention) softmaxOfScores(list []gatSegment, lse Dense) { w.softmaxOfScoresGo(list, lse) }

func (w *attention) gradOfScoresDst(list []gatSegment, lse, grad Dense) {
	w.gradOfScoresDstGo(list, lse, grad)
}

func (w *attention) gradOfScoresSrc(list []gatSegment, idx []int32, lse, grad Dense) {
	w.gradOfScoresSrcGo(list, idx, lse, grad)
}

func (w *attention) slopes(list []gatSegment, idx []int32, x gatv2Pair, att []float32, slope float32, sum Dense) {
	w.slopesGo(list, idx, x, att, slope, sum)
}

func (w *attention) moments(list []gatSegment, idx []int32, x gatv2Pair, att []float32, slope float32, sum, moment Dense) {
	w.momentsGo(list, idx, x, att, slope, sum, moment)
}

func GATDots(n int, a, b Dense, bias, less []float32, out Dense) { dotsGo(n, a, b, bias, less, out) }

func (g *GATScoresGrad) rows(lo, hi int, _ []int32, dSrc, dDst []float32) {
	g.rowsGo(lo, hi, dSrc, dDst)
}

func GATMean(heads int, dst, src Dense, bias []float32) { meanGo(heads, dst, src, bias) }
