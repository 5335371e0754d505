package kernel

// gatv2Pair is rows that entries index, and rows of a group: an entry of a segment has a row of each.
type gatv2Pair struct{ of, row Dense }

// scoresGo computes, for each segment and head:
//
//	weight[0][e] = Σ_c att[hC+c]·leaky(x.of[idx[e]][hC+c] + x.row[row][hC+c])
//	weight[1][e] = Σ_c y.of[idx[e]][hC+c]·y.row[row][hC+c]                     (y given)
func (w *attention) scoresGo(list []gatSegment, idx []int32, x gatv2Pair, y *gatv2Pair, att []float32, slope float32) {
	for i := range list {
		seg := &list[i]
		score, r := w.weights(0, seg), x.row.Row(int(seg.row))
		for e, u := range idx[seg.from:][:seg.n] {
			t := x.of.Row(int(u))
			for h := range w.heads {
				lo, hi := h*w.channels, (h+1)*w.channels
				score[e*w.stride+h] = leakyDot(att[lo:hi], t[lo:hi], r[lo:hi], slope)
			}
		}
		if y == nil {
			continue
		}
		product, r := w.weights(1, seg), y.row.Row(int(seg.row))
		for e, u := range idx[seg.from:][:seg.n] {
			t := y.of.Row(int(u))
			for h := range w.heads {
				product[e*w.stride+h] = dot(t[h*w.channels:(h+1)*w.channels], r[h*w.channels:(h+1)*w.channels])
			}
		}
	}
}

// leakyDot returns Σ_c a[c]·leaky(x[c] + y[c]), for 0 ≤ slope ≤ 1.
func leakyDot(a, x, y []float32, slope float32) float32 {
	x, y = x[:len(a)], y[:len(a)]
	var s0, s1, s2, s3 float32
	j := 0
	for ; j+4 <= len(a); j += 4 {
		t0, t1, t2, t3 := x[j]+y[j], x[j+1]+y[j+1], x[j+2]+y[j+2], x[j+3]+y[j+3]
		s0 += a[j] * max(t0, slope*t0)
		s1 += a[j+1] * max(t1, slope*t1)
		s2 += a[j+2] * max(t2, slope*t2)
		s3 += a[j+3] * max(t3, slope*t3)
	}
	for ; j < len(a); j++ {
		t := x[j] + y[j]
		s0 += a[j] * max(t, slope*t)
	}
	return (s0 + s2) + (s1 + s3)
}

// softmaxOfScoresGo is softmaxGo of the scores that are in the place of the weights.
func (w *attention) softmaxOfScoresGo(list []gatSegment, lse Dense) {
	for i := range list {
		w.softmaxSegment(&list[i], lse)
	}
}

// gradOfScoresDstGo computes, for each segment and head, with what scores left:
//
//	weight[1][e] = exp(weight[0][e] - lse[row])·(weight[1][e] - grad[row])
func (w *attention) gradOfScoresDstGo(list []gatSegment, lse, grad Dense) {
	for i := range list {
		seg := &list[i]
		score, product := w.weights(0, seg), w.weights(1, seg)
		norm, less := lse.Row(int(seg.row)), grad.Row(int(seg.row))
		for e := range int(seg.n) {
			for h := range w.heads {
				k := e*w.stride + h
				product[k] = exp32(score[k]-norm[h]) * (product[k] - less[h])
			}
		}
	}
}

// gradOfScoresSrcGo computes, for each segment and head, with v = idx[e] and what scores left:
//
//	weight[0][e] = exp(weight[0][e] - lse[v]);  weight[1][e] = weight[0][e]·(weight[1][e] - grad[v])
func (w *attention) gradOfScoresSrcGo(list []gatSegment, idx []int32, lse, grad Dense) {
	for i := range list {
		seg := &list[i]
		score, product := w.weights(0, seg), w.weights(1, seg)
		for e, v := range idx[seg.from:][:seg.n] {
			norm, less := lse.Row(int(v)), grad.Row(int(v))
			for h := range w.heads {
				k := e*w.stride + h
				score[k] = exp32(score[k] - norm[h])
				product[k] = score[k] * (product[k] - less[h])
			}
		}
	}
}

// slopesGo computes, for each segment and column j of head h, with s = x.of[idx[e]][j] + x.row[row][j]:
//
//	sum[row][j] += att[j]·Σ_e weight[1][e][h]·leaky'(s)
func (w *attention) slopesGo(list []gatSegment, idx []int32, x gatv2Pair, att []float32, slope float32, sum Dense) {
	w.eachWindow(list, idx, x, func(seg *gatSegment, j int, r []float32, each func(func(de float32, t []float32))) {
		var room [gatv2Window]float32
		b := room[:len(r)]
		each(func(de float32, t []float32) {
			for k, y := range r {
				g := de
				if !(t[k]+y > 0) {
					g *= slope
				}
				b[k] += g
			}
		})
		out := sum.Row(int(seg.row))[j:]
		for k, y := range b {
			out[k] += att[j+k] * y
		}
	})
}

// momentsGo computes, for each row and column j of head h, with s as in slopesGo, over all segments of the row:
//
//	sum[row][j] = att[j]·(1 - slope)·p, p = Σ_e weight[1][e][h] of the s > 0, or -p of the others, whichever is smaller
//	moment[row][j] = Σ_e weight[1][e][h]·leaky(s)
//
// As the weights of a row add up to 0 (to rounding), sum is att[j]·Σ_e weight[1][e][h]·leaky'(s), and exactly 0 where all s have one sign.
// Between segments, sum holds p, and the scratch rows the sums of all weights.
func (w *attention) momentsGo(list []gatSegment, idx []int32, x gatv2Pair, att []float32, slope float32, sum, moment Dense) {
	w.eachWindow(list, idx, x, func(seg *gatSegment, j int, r []float32, each func(func(de float32, t []float32))) {
		row := int(seg.row)
		p, all, d := sum.Row(row)[j:][:len(r)], w.rows.Row(row)[j:][:len(r)], moment.Row(row)[j:][:len(r)]
		if seg.flags&gatFirst != 0 {
			clear(p)
			clear(all)
			clear(d)
		}
		each(func(de float32, t []float32) {
			for k, y := range r {
				s := t[k] + y
				all[k] += de
				if s > 0 {
					p[k] += de
				}
				d[k] += de * max(s, slope*s)
			}
		})
		if seg.flags&gatLast == 0 {
			return
		}
		for k, y := range p {
			if n := y - all[k]; abs32(n) < abs32(y) {
				y = n
			}
			p[k] = att[j+k] * ((1 - slope) * y)
		}
	})
}

func abs32(x float32) float32 { return max(x, -x) }

// gatv2Window is how many columns are summed up at a time.
const gatv2Window = 64

// eachWindow calls f for each segment and window of columns of one head, from column j on: with the segment's row there, and what calls a function for each
// entry, with its weight and its row.
func (w *attention) eachWindow(list []gatSegment, idx []int32, x gatv2Pair,
	f func(seg *gatSegment, j int, r []float32, each func(func(de float32, t []float32)))) {
	for i := range list {
		seg := &list[i]
		weight, row := w.weights(1, seg), x.row.Row(int(seg.row))
		for j := 0; j < len(row); {
			h := j / w.channels
			n := min(gatv2Window, (h+1)*w.channels-j)
			f(seg, j, row[j:][:n], func(add func(de float32, t []float32)) {
				for e, u := range idx[seg.from:][:seg.n] {
					add(weight[e*w.stride+h], x.of.V[int(u)*x.of.LD+j:][:n])
				}
			})
			j += n
		}
	}
}
