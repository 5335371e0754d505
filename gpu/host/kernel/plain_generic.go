package kernel

// plainForwardGo is PlainForward in Go.
func plainForwardGo(h, z []float32, relu bool, keep []uint32, keepScale float32) {
	h = h[:len(z)]
	for j, y := range z {
		if relu {
			y = max(y, 0)
		}
		switch {
		case keep == nil:
			h[j] = y
		case keep[j>>5]>>(j&31)&1 == 0:
			h[j] = 0
		default:
			h[j] = y * keepScale
		}
	}
}

// plainBackwardGo is PlainBackward in Go.
func plainBackwardGo(dz, dh, x []float32, keep []uint32, keepScale float32) {
	for j, g := range dh {
		switch {
		case keep != nil && keep[j>>5]>>(j&31)&1 == 0, x != nil && !(x[j] > 0):
			g = 0
		case keep != nil:
			g *= keepScale
		}
		dz[j] = g
	}
}
