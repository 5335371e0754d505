//go:build !amd64 || noasm

package host

func (w *attention) softmax(list []gatSegment, idx []int32, s, d dense, slope float32, lse dense) {
	w.softmaxGo(list, idx, s, d, slope, lse)
}

func (w *attention) weightsDst(list []gatSegment, idx []int32, s, d, lse, grad dense, slope float32) {
	w.weightsDstGo(list, idx, s, d, lse, grad, slope)
}

func (w *attention) weightsSrc(list []gatSegment, s dense, to *gatTarget, slope float32) {
	w.weightsSrcGo(list, s, to, slope)
}

func (w *attention) sum(list []gatSegment, idx []int32, x, y dense, factors, bias []float32) {
	w.sumGo(0, list, idx, x, y, factors, bias)
}

func (w *attention) sums(list []gatSegment, idx []int32, x, y0, y1 dense) {
	w.sumGo(0, list, idx, x, y0, nil, nil)
	w.sumGo(1, list, idx, x, y1, nil, nil)
}

func gatDots(n int, a, b dense, bias, less []float32, out dense) { dotsGo(n, a, b, bias, less, out) }

func (g *gatScoresGrad) rows(lo, hi int, _ []int32, dSrc, dDst []float32) {
	g.rowsGo(lo, hi, dSrc, dDst)
}

func gatMean(heads int, dst, src dense, bias []float32) { meanGo(heads, dst, src, bias) }
