package ref

// Gather returns src[rows[k]][j].
func Gather(src Matrix, rows []int32) Matrix {
	return Map(len(rows), src.Cols, func(k, j int) float64 { return src.At(int(rows[k]), j) })
}

// ScatterAdd returns dst after dst[rows[k]][j] += src[k][j] for every k.
func ScatterAdd(dst, src Matrix, rows []int32) Matrix {
	d := dst.Clone()
	for k, r := range rows {
		for j := range d.Cols {
			d.Row(int(r))[j] += src.At(k, j)
		}
	}
	return d
}
