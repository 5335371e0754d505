package gpu

// DotArgs is attention over in-edges whose scores are products of rows (docs/mathematics.md). For every row v and head
// h, over the entries of row v in Inner (columns u index K and V) and then in Halo (columns u index KHalo and VHalo),
// entries of Val 0 left out:
//
//	e_uv = Σ_c Q[v][hC+c]·K[u][hC+c]
//	LSE[v][h] = log Σ_u exp(e_uv), computed against the maximum;  α_uv = exp(e_uv - LSE[v][h])
//	O[v][hC+c] = Σ_u m_uv·α_uv·V[u][hC+c],  m_uv as in EdgeDropout
//
// Rows without entries: LSE = 0, O = 0. Halo may be empty. Both may have a RowList. |e_uv| is below 10²⁹.
type DotArgs struct {
	O           Matrix // rows × heads·C
	LSE         Matrix // rows × heads
	Q           Matrix // rows × heads·C
	Inner, Halo CSR    // rows = destinations
	K, V        Matrix // sources × heads·C
	KHalo       Matrix
	VHalo       Matrix
	Drop        EdgeDropout
}

// DotGradDst: for every destination row v and head h, with α and m as in DotArgs:
//
//	G[v][h]     = Σ_c DO[v][hC+c]·O[v][hC+c]
//	de_uv       = α_uv·(m_uv·Σ_c DO[v][hC+c]·V[u][hC+c] - G[v][h])
//	DQ[v][hC+c] = Σ_u de_uv·K[u][hC+c]
//
// O, LSE and Drop are those of the DotAggregate of Q, K and V.
type DotGradDst struct {
	DQ, G       Matrix // rows × heads·C, rows × heads; written
	DO, O       Matrix
	LSE, Q      Matrix
	Inner, Halo CSR
	K, V        Matrix
	KHalo       Matrix
	VHalo       Matrix
	Drop        EdgeDropout
}

// DotGradSrc: for every source row u and head h, over its out-edges: entries of row u in Inner (columns v index DO, Q,
// LSE, G) and then in Halo (columns v index DOHalo, QHalo, LSEHalo, GHalo), entries of Val 0 left out, with α and de as
// in DotGradDst:
//
//	DV[u][hC+c] = Σ_v m_uv·α_uv·DO[v][hC+c];  DK[u][hC+c] = Σ_v de_uv·Q[v][hC+c]
//
// Rows without entries get 0. Halo may be empty. Both may have a RowList.
type DotGradSrc struct {
	DK, DV                        Matrix // sources × heads·C, written
	K, V                          Matrix
	Heads                         int
	Inner, Halo                   CSR // rows = sources, columns = destinations
	DO, Q, LSE, G                 Matrix
	DOHalo, QHalo, LSEHalo, GHalo Matrix
	Drop                          EdgeDropout
}
