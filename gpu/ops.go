package gpu

// Ops is the closed list of operations that every backend implements. Operations are added by a decision
// record with conformance cases.
//
// Notation in the loops: i is a row, j a column; sums run in float32 with any blocking that depends on shapes only, unless
// said otherwise. An argument that is empty (its zero value) is left out of the formula. Destinations never alias sources
// unless the comment allows it. Rows or columns may be 0: the operation then does nothing but what the empty loop does.
//
// All Matrix arguments are FP32 unless "any dtype" or "may be BF16" is said. A BF16 source is widened exactly; the loop
// runs in float32; a BF16 destination holds its float32 result rounded once, to nearest even, and sums beside it (DBias,
// DGamma, Loss) are of what was not rounded. A BF16 destination aliases nothing. What may be BF16 (docs/adr/0005):
//
//	Copy, Gather      dst and src, in any combination
//	PackRows          Src
//	UnpackRows        dst
//	Gemm              A; B if TransA; C if not TransA and Beta = 0
//	Linear            X; X2; Z if Beta = 0 and Then is nil; Then.H
//	SpMM              x; y if beta = 0
//	Aggregate         X; Then.H
//	Epilogue          H
//	EpilogueBackward  DZ
//	SoftmaxLoss, BCELoss  Grad
//	AddScaled         src
//	ColSum, Dot       m; x, y
//
// A device whose Info says HalfProducts rounds operands to BF16 before it multiplies (docs/adr/0038): A and B of Gemm where A, B or C is BF16,
// X and W of Linear where X or Z is BF16, X2 and W2 where X2 or Z is; with Half all of them.
type Ops interface {
	// Fill: m[i][j] = v.
	Fill(m Matrix, v float32)
	// Copy: dst[i][j] = src[i][j], converted (any dtype; to BF16 rounds to nearest even).
	Copy(dst, src Matrix)
	// Transpose: dst[j][i] = src[i][j].
	Transpose(dst, src Matrix)
	// Axpby: dst[i][j] = a·src[i][j] + b·dst[i][j]; with b = 0, dst is not read.
	Axpby(dst Matrix, a float32, src Matrix, b float32)
	// ScaleRows: dst[i][j] = scale[i]·src[i][j]. dst may be src.
	ScaleRows(dst, src Matrix, scale Vec)
	// AddScaled: dst[i][j] += (1 + s[0])·src[i][j], s on the device. The (1+ε)H term of GIN. src may be BF16.
	AddScaled(dst, src Matrix, s Vec)
	// Map: dst[i][j] = f(src[i][j])·by[i][j] + beta·dst[i][j], f a function of numbers or its derivative, see MapArgs.
	Map(a MapArgs)
	// ColSum: dst[j] = Σ_i m[i][j] + b·dst[j]; with b = 0, dst is not read. m may be BF16.
	ColSum(dst Vec, m Matrix, b float32)
	// Dot: dst[0] = Σ_i Σ_j x[i][j]·y[i][j] + b·dst[0], accumulated in float64. x and y may be BF16.
	Dot(dst Vec, x, y Matrix, b float32)
	// Gather: dst[k][j] = src[rows[k]][j] (any dtypes, converted as Copy).
	Gather(dst, src Matrix, rows Ints)
	// ScatterAdd: for k in order: dst[rows[k]][j] += src[k][j].
	ScatterAdd(dst, src Matrix, rows Ints)
	// PackRows: rows in 8 or 2 bits per element with a scale each, see PackArgs.
	PackRows(a PackArgs)
	// UnpackRows: dst[k][j] = scale·q[j] of packed row k, in 2 bits low + scale·q[j], in float32 (dst of any dtype,
	// converted as Copy). packed is as PackRows left it: dst.Rows × PackedWords(dst.Cols, bits).
	UnpackRows(dst, packed Matrix, bits int)

	// Gemm: C = op(A)·op(B) + beta·C.
	Gemm(a GemmArgs)
	// Linear: Z = X·Wᵀ + X2·W2ᵀ + bias, then the epilogue.
	Linear(a LinearArgs)
	// SpMM: product of a sparse matrix that is not the graph's adjacency (sparse features, or their transpose) with a
	// dense one: Y[r][j] = Σ_e Val[e]·X[Indices[e]][j] + beta·Y[r][j] for every matrix row r (rows without entries give
	// beta·Y). Same loop as Aggregate, counted as PhaseMM. x may be BF16, and y if beta = 0.
	SpMM(y Matrix, a CSR, x Matrix, beta float32)
	// Aggregate: sums over graph neighbours, see AggregateArgs.
	Aggregate(a AggregateArgs)
	// Messages: sums, or largest, of functions of both ends of edges, by column, see MessageArgs.
	Messages(a MessageArgs)
	// Epilogue: H = epilogue(Z) on its own, see Epilogue.
	Epilogue(e Epilogue)
	// EpilogueBackward: gradient through an Epilogue, see EpilogueGrad.
	EpilogueBackward(e EpilogueGrad)

	// GATScores: s[i][h] = Σ_c aSrc[h·C+c]·T[i][h·C+c], d likewise with aDst; C = T.Cols / heads, heads = s.Cols.
	// d (and aDst) may be empty.
	GATScores(s, d, t Matrix, aSrc, aDst Vec)
	// GATAggregate: attention-weighted sum over in-edges, see GATArgs.
	GATAggregate(a GATArgs)
	// GATBackwardDst: gradient of the destination scores, see GATGradDst.
	GATBackwardDst(a GATGradDst)
	// GATBackwardSrc: gradient of the source rows and scores, see GATGradSrc.
	GATBackwardSrc(a GATGradSrc)
	// GATScoresBackward: dT[i][hC+c] += aSrc[hC+c]·ds[i][h] + aDst[hC+c]·dd[i][h] and
	// daSrc[hC+c] += Σ_i ds[i][h]·T[i][hC+c], daDst[hC+c] += Σ_i dd[i][h]·T[i][hC+c].
	// dd, aDst and daDst may be empty.
	GATScoresBackward(a GATScoresGrad)
	// GATv2Aggregate: sum over in-edges weighted by attention to sums of rows, see GATv2Args.
	GATv2Aggregate(a GATv2Args)
	// GATv2BackwardDst: gradient of the destination rows and of the attention vector, see GATv2GradDst.
	GATv2BackwardDst(a GATv2GradDst)
	// GATv2BackwardSrc: gradient of the source rows, see GATv2GradSrc.
	GATv2BackwardSrc(a GATv2GradSrc)
	// DotAggregate: sum over in-edges weighted by attention to products of rows, see DotArgs; its gradients follow.
	DotAggregate(a DotArgs)
	DotBackwardDst(a DotGradDst)
	DotBackwardSrc(a DotGradSrc)
	// HeadMean: dst[i][c] = bias[c] + Σ_h src[i][h·C+c] / heads, C = dst.Cols, heads = src.Cols / C. With one head, dst may be src.
	HeadMean(dst, src Matrix, bias Vec)
	// HeadMeanBackward: dst[i][h·C+c] = src[i][c] / heads.
	HeadMeanBackward(dst, src Matrix)

	// SoftmaxLoss: cross-entropy and its gradient, see LossArgs.
	SoftmaxLoss(a LossArgs)
	// BCELoss: binary cross-entropy with logits and its gradient, see LossArgs.
	BCELoss(a LossArgs)
	// Adam: one optimiser step, see AdamArgs.
	Adam(a AdamArgs)
	// SGD: param[i] -= lr·(grad[i] + weightDecay·param[i]).
	SGD(param, grad Vec, lr, weightDecay float32)
}

// GemmArgs: C = op(A)·op(B) + Beta·C, where op transposes if told to; the pair (true, true) is not supported.
// C is M×N, op(A) M×K, op(B) K×N. With Beta = 0, C is not read.
//
// A may be BF16. B may be BF16 if TransA (a weight gradient dZᵀ·H); otherwise it is a weight. C may be BF16 if not TransA
// and Beta = 0.
type GemmArgs struct {
	C, A, B        Matrix
	TransA, TransB bool
	Beta           float32
	Half           bool // round operands to BF16: see Ops
}

// LinearArgs: Z[i][o] = Σ_k X[i][k]·W[o][k] + Σ_k X2[i][k]·W2[o][k] + Beta·Z[i][o] + Bias[o].
// W is [out, in] as in a PyTorch state_dict. X2, W2 and Bias may be empty. RowScale, if given, multiplies row i of
// X·Wᵀ (not of the second pair). If Then is given, it runs on Z afterwards, with its own Z field ignored.
//
// X and X2 may be BF16, each for itself. Z may be BF16 if Beta = 0 and Then is nil. Then.H may be BF16.
type LinearArgs struct {
	Z, X, W, X2, W2 Matrix
	RowScale        Vec
	Bias            Vec
	Beta            float32
	Half            bool // round operands to BF16: see Ops
	Then            *Epilogue
}

// AggregateArgs is the product of adjacency and dense rows. With cs = ColScale, rs = RowScale (1 where empty):
//
//	for every stored row k with matrix row r:
//	    t[j]    = Σ_e Val[e]·cs[Indices[e]]·X[Indices[e]][j]      (entries in order)
//	    Y[r][j] = rs[r]·t[j]                  (+ Y[r][j] if Accumulate)
//	rows that are not stored: unchanged if Accumulate, else 0
//	Y[r][j] += Bias[j]  for every row r
//
// X may be BF16. If Then is given, it runs on all of Y afterwards, with its own Z field ignored; Then.H may be BF16. X rows
// are indexed by A's columns: X.Rows ≥ A.Cols.
type AggregateArgs struct {
	Y          Matrix
	A          CSR
	X          Matrix
	RowScale   Vec // len ≥ A.Rows
	ColScale   Vec // len ≥ A.Cols
	Accumulate bool
	Bias       Vec
	Then       *Epilogue
}

// Dropout says which elements an Epilogue drops. Element (i, j) is kept if word j mod 4 of
// Philox(counter (j/4, IDs[i], Layer, Epoch), key Seed) is at least ⌊P·2³²⌋ and is then multiplied by 1/(1-P).
// P = 0: nothing is dropped and nothing is drawn.
type Dropout struct {
	P     float64
	Seed  uint64
	Layer uint32
	Epoch uint32
	IDs   Ints // original vertex id of each row
}

// Activation is a function that an Epilogue applies to every element.
type Activation uint8

// The activations. All but NoActivation keep the sign, or give 0; NaN stays NaN.
const (
	NoActivation Activation = iota
	ReLU                    // max(y, 0)
	LeakyReLU               // y > 0 ? y : LeakySlope·y
	ELU                     // y > 0 ? y : e^y - 1
	Tanh                    // tanh y
)

// LeakySlope is LeakyReLU's negative slope, PyTorch's default.
const LeakySlope = 0.01

// Curved reports whether an activation is not ReLU. Backends have separate kernels for these, so that ReLU stays as
// fast.
func (a Activation) Curved() bool { return a > ReLU }

// Epilogue is what follows a convolution: LayerNorm, an activation and dropout, each of them optional, in this order.
//
//	mu = Σ_j Z[i][j] / n;  var = Σ_j (Z[i][j]-mu)² / n;  Rstd[i] = 1/√(var + Eps);  x = (Z[i][j]-mu)·Rstd[i]
//	Z[i][j] = x;  y = Gamma[j]·x + Beta[j]                  (Norm; otherwise y = Z[i][j] and Z is left alone)
//	y = f(y), f the activation                              (Act)
//	y = keep(i, j) ? y/(1-P) : 0                            (Dropout.P > 0)
//	H[i][j] = y
//
// Z is overwritten with the normalised rows, which the backward pass needs. H may be Z only without Norm. Masks are not
// stored. Empty Rstd: not written (evaluation). H may be BF16 (it is then not Z).
type Epilogue struct {
	Z, H        Matrix
	Norm        bool
	Gamma, Beta Vec
	Eps         float32
	Rstd        Vec
	Act         Activation
	Dropout     Dropout
}

// EpilogueGrad is the gradient through an Epilogue with the same settings. With x, y as there, recomputed from X (the
// normalised rows that Epilogue left in Z) or, without Norm, from X = the input Z or the output H. X is the input where H is given, else the output; with
// ReLU it may always be either, whose signs agree where nothing was dropped.
//
//	g = keep ? DH[i][j]/(1-P) : 0                 (Dropout.P > 0)
//	g = f'(y)·g                                   (Act), made of h = f(y), which is the output without dropout's factor:
//	    ReLU: h > 0 ? g : 0;  LeakyReLU: h > 0 ? g : LeakySlope·g;  ELU: h > 0 ? g : (h + 1)·g;  Tanh: (1 - h²)·g
//	DGamma[j] += Σ_i g·x;  DBeta[j] += Σ_i g      (Norm)
//	g' = g·Gamma[j];  g = Rstd[i]·(g' - mean_j g' - x·mean_j(g'·x))       (Norm)
//	DZ[i][j] = g;  DBias[j] += Σ_i g
//	H[i][j] = what the Epilogue wrote to its H                     (H given)
//
// H saves keeping the output for the backward pass; it may be X if DZ is not.
// DZ may be DH or X. DGamma, DBeta, DBias are added to; DBias may be empty. DZ may be BF16 (it is then neither DH nor X).
type EpilogueGrad struct {
	DH, X, DZ, H  Matrix
	Norm          bool
	Gamma, Beta   Vec
	Rstd          Vec
	Act           Activation
	Dropout       Dropout
	DGamma, DBeta Vec
	DBias         Vec
}

// GATArgs is attention over in-edges (docs/mathematics.md). For every row v in Lo ≤ v < Hi and head h, over the entries of row v
// in Inner (columns u index T, S) and then in Halo (columns u index THalo, SHalo):
//
//	e_uv = leaky(S[u][h] + D[v][h]),  leaky(x) = x > 0 ? x : Slope·x
//	LSE[v][h] = log Σ_u exp(e_uv), computed against the maximum;  α_uv = exp(e_uv - LSE[v][h])
//	O[v][hC+c] = Σ_u m_uv·α_uv·T[u][hC+c] + Bias[hC+c],  m_uv as in EdgeDropout
//
// Rows without entries: LSE = 0, O = Bias. Halo may be empty. Halo may have a RowList. Bias may be empty.
type GATArgs struct {
	O           Matrix // rows × heads·C
	LSE         Matrix // rows × heads
	Inner, Halo CSR    // rows = destinations
	T, S        Matrix
	THalo       Matrix
	SHalo       Matrix
	D           Matrix
	Bias        Vec
	Slope       float32
	Drop        EdgeDropout
	Lo, Hi      int
}

// GATGradDst: for every destination row v and head h, with α and m as in GATArgs:
//
//	G[v][h]  = Σ_c DO[v][hC+c]·O[v][hC+c]                 (O without bias: bias is subtracted if given)
//	de_uv    = α_uv·(m_uv·Σ_c DO[v][hC+c]·T[u][hC+c] - G[v][h])·leaky'(S[u][h] + D[v][h])
//	DD[v][h] = Σ_u de_uv
//
// leaky'(x) = x > 0 ? 1 : Slope. O, LSE, Bias and Drop are those of the GATAggregate of T, S and D, so that the
// α_uv·(…) of a row add up to 0.
type GATGradDst struct {
	DD, G       Matrix // rows × heads, written
	DO, O       Matrix
	LSE         Matrix
	Inner, Halo CSR
	T, S        Matrix
	THalo       Matrix
	SHalo       Matrix
	D           Matrix
	Bias        Vec
	Slope       float32
	Drop        EdgeDropout
}

// GATGradSrc: for every source row u and head h, over its out-edges: entries of row u in Inner (columns v index DO, D,
// LSE, G) and then in Halo (columns v index DOHalo, DHalo, LSEHalo, GHalo):
//
//	α_uv = exp(leaky(S[u][h] + D[v][h]) - LSE[v][h])
//	de_uv = α_uv·(m_uv·Σ_c DO[v][hC+c]·T[u][hC+c] - G[v][h])·leaky'(S[u][h] + D[v][h])
//	DT[u][hC+c] = Σ_v m_uv·α_uv·DO[v][hC+c];  DS[u][h] = Σ_v de_uv
//
// Rows without entries get 0. Halo may be empty and may have a RowList.
type GATGradSrc struct {
	DT, DS                        Matrix // sources × heads·C, sources × heads, written
	T, S                          Matrix
	Inner, Halo                   CSR // rows = sources, columns = destinations
	DO, D, LSE, G                 Matrix
	DOHalo, DHalo, LSEHalo, GHalo Matrix
	Slope                         float32
	Drop                          EdgeDropout
}

// GATScoresGrad: see Ops.GATScoresBackward. DT is added to; DASrc and DADst are added to.
type GATScoresGrad struct {
	T, DT        Matrix
	DS, DD       Matrix
	ASrc, ADst   Vec
	DASrc, DADst Vec
}

// GATv2Args is attention over in-edges whose scores are of sums of rows (docs/mathematics.md). For every row v in Lo ≤ v < Hi and head h, over
// the entries of row v in Inner (columns u index T) and then in Halo (columns u index THalo), with leaky as in GATArgs:
//
//	e_uv = Σ_c Att[hC+c]·leaky(T[u][hC+c] + R[v][hC+c])
//	LSE[v][h] = log Σ_u exp(e_uv), computed against the maximum;  α_uv = exp(e_uv - LSE[v][h])
//	O[v][hC+c] = Σ_u m_uv·α_uv·T[u][hC+c],  m_uv as in EdgeDropout
//
// Rows without entries: LSE = 0, O = 0. Halo may be empty and may have a RowList. 0 ≤ Slope ≤ 1.
type GATv2Args struct {
	O           Matrix // rows × heads·C
	LSE         Matrix // rows × heads
	Inner, Halo CSR    // rows = destinations
	T, THalo    Matrix // sources × heads·C
	R           Matrix // rows × heads·C
	Att         Vec    // heads·C
	Slope       float32
	Drop        EdgeDropout
	Lo, Hi      int
}

// GATv2GradDst: for every destination row v and head h, with α and m as in GATv2Args and leaky'(x) = x > 0 ? 1 : Slope:
//
//	G[v][h]     = Σ_c DO[v][hC+c]·O[v][hC+c]
//	de_uv       = α_uv·(m_uv·Σ_c DO[v][hC+c]·T[u][hC+c] - G[v][h])
//	DR[v][hC+c] = Att[hC+c]·Σ_u de_uv·leaky'(T[u][hC+c] + R[v][hC+c])
//	DA[v][hC+c] = Σ_u de_uv·leaky(T[u][hC+c] + R[v][hC+c])
//
// The sum of DA over all rows is the gradient of Att. DA may be O. O, LSE and Drop are those of the GATv2Aggregate of T
// and R, so that the de_uv of a row add
// up to 0: of DR no more is left than (1 - Slope)·Att times their sum over positive T + R, and exactly 0 where these have one sign in all entries.
type GATv2GradDst struct {
	DR, DA, G   Matrix // rows × heads·C twice, rows × heads; written
	DO, O       Matrix
	LSE         Matrix
	Inner, Halo CSR
	T, THalo    Matrix
	R           Matrix
	Att         Vec
	Slope       float32
	Drop        EdgeDropout
}

// GATv2GradSrc: for every source row u and head h, over its out-edges: entries of row u in A (columns v index DO, R, LSE, G):
//
//	α_uv = exp(Σ_c Att[hC+c]·leaky(T[u][hC+c] + R[v][hC+c]) - LSE[v][h])
//	de_uv = α_uv·(m_uv·Σ_c DO[v][hC+c]·T[u][hC+c] - G[v][h])
//	DT[u][hC+c] = Σ_v m_uv·α_uv·DO[v][hC+c] + Att[hC+c]·Σ_v de_uv·leaky'(T[u][hC+c] + R[v][hC+c])
//
// Rows without entries get 0.
type GATv2GradSrc struct {
	DT            Matrix // sources × heads·C, written
	T             Matrix
	A             CSR    // rows = sources, columns = destinations
	DO, R, LSE, G Matrix // LSE.Cols heads, also where A has no entries
	Att           Vec
	Slope         float32
	Drop          EdgeDropout
}

// LossArgs is a loss over the rows of Logits, its gradient, and its sum.
//
// SoftmaxLoss, over the rows with Labels[i] ≥ 0:
//
//	Loss[0] = Σ_i (log Σ_j exp(Logits[i][j]) - Logits[i][Labels[i]])·Scale      (float64)
//	Grad[i][j] = (softmax(Logits[i])[j] - [j = Labels[i]])·Scale;  rows with Labels[i] < 0 give 0
//
// BCELoss, over the rows with Mask[i] ≠ 0 (all rows where Mask is empty), t = Targets[i·Cols+j] ∈ {0, 1}:
//
//	Loss[0] = Σ_i Σ_j (max(x,0) - x·t + log(1 + exp(-|x|)))·Scale               (float64), x = Logits[i][j]
//	Grad[i][j] = (σ(x) - t)·Scale;  masked rows give 0
//
// Grad may be Logits. An empty Grad is not written. Grad may be BF16 (it is then not Logits).
type LossArgs struct {
	Logits, Grad Matrix
	Labels       Ints
	Targets      Array[uint8]
	Mask         Array[uint8]
	Scale        float64 // 1/(training vertices), or 1/(training vertices × classes) for BCE
	Loss         Array[float64]
}

// AdamArgs: for every i, in float32, with b1, b2 the betas and t = Step ≥ 1:
//
//	g = Grad[i] + WeightDecay·Param[i]            (Decoupled: Param[i] -= LR·WeightDecay·Param[i] first, g = Grad[i])
//	M[i] = b1·M[i] + (1-b1)·g;  V[i] = b2·V[i] + (1-b2)·g²
//	v = V[i]                                       (VMax given, amsgrad: VMax[i] = max(VMax[i], V[i]); v = VMax[i])
//	Param[i] -= LR/(1-b1^t) · M[i] / (√v/√(1-b2^t) + Eps)
//
// As torch.optim.Adam, AdamW. The factors that depend on t are computed in float64 and rounded once.
type AdamArgs struct {
	Param, Grad, M, V, VMax Vec
	LR, Beta1, Beta2, Eps   float64
	WeightDecay             float64
	Decoupled               bool
	Step                    int
}
