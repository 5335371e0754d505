package kernel

// portableTile is gemm's innermost loop in Go.
var portableTile = tileKernel{mr: 4, nr: 16, lanes: 4, tile: tileGo}

// tileGo computes a tile four columns at a time, each row's four sums in registers.
func tileGo(m, n, k int, a []float32, rs, cs int, b []float32, bs int, c []float32, ldc int, add bool, _ hint) {
	for j := 0; j < n; j += 4 {
		for i := range m {
			var s0, s1, s2, s3 float32
			for e := range k {
				v := a[i*rs+e*cs]
				row := (*[4]float32)(b[e*bs+j:])
				s0 += v * row[0]
				s1 += v * row[1]
				s2 += v * row[2]
				s3 += v * row[3]
			}
			s := [4]float32{s0, s1, s2, s3}
			row := c[i*ldc+j : i*ldc+min(j+4, n)]
			for q := range row {
				if add {
					s[q] += row[q]
				}
				row[q] = s[q]
			}
		}
	}
}
