package gpu

// MessageArgs is what the edges of a graph bring to their rows. For every row r, over the entries e of row r in Inner, columns s of
// which index C and X, and then in Halo, columns of which index CHalo and XHalo:
//
//	m_e[j]  = f(R[r][j] + C[s][j])·X[s][j]
//	Y[r][j] = Σ_e Val[e]·m_e[j]                     (+ Y[r][j] if Accumulate)
//	Y[r][j] = max_e m_e[j] over Val[e] ≠ 0          (Max): 0 if there is none; NaN if one is
//
// f is F or, with Slope, its derivative. R may be left out: 0; X and XHalo together: 1. Halo may be empty. Both may have a RowList.
// Y is no other operand.
type MessageArgs struct {
	Y, R        Matrix // rows × columns
	Inner, Halo CSR
	C, X        Matrix // columns of Inner × columns
	CHalo       Matrix
	XHalo       Matrix
	F           Function
	A, B        float32 // parameters of F
	Slope       bool
	Max         bool
	Accumulate  bool
}
