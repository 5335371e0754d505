package gpu

// Function is a function of one number, for Map. a and b are its parameters.
type Function uint8

// The functions, and their derivatives where these are not plain. NaN stays NaN.
const (
	MapIdentity   Function = iota // x
	MapLeaky                      // x > 0 ? x : a·x; derivative x > 0 ? 1 : a. With a = 0 ReLU
	MapELU                        // x > 0 ? x : a·(e^x - 1); derivative x > 0 ? 1 : a·e^x
	MapTanh                       // tanh x
	MapGELU                       // x·Φ(x), Φ(x) = (1 + erf(x/√2))/2; derivative Φ(x) + x·e^(-x²/2)/√(2π)
	MapSigmoid                    // σ(x) = 1/(1 + e^-x); derivative σ(x)·σ(-x)
	MapSiLU                       // x·σ(x); derivative σ(x)·(1 + x·σ(-x))
	MapSoftplus                   // log(1 + e^x); derivative σ(x)
	MapExp                        // e^x
	MapLog                        // log x
	MapSqrt                       // √x
	MapSquare                     // x²
	MapPower                      // x^a; derivative a·x^(a-1), and 0 for a = 0
	MapClamp                      // min(max(x, a), b); derivative a ≤ x ≤ b ? 1 : 0
	MapReciprocal                 // 1/x
	MapZero                       // x = 0 ? 1 : 0; derivative 0
	Functions     = iota          // their number
)

// MapArgs: Dst[i][j] = f(Src[i][j])·By[i][j] + Beta·Dst[i][j]; with Beta = 0, Dst is not read, and without By its
// factor is 1.
// Src and By have the rows of Dst or one, and the columns of Dst or one: a single one is that of all. f is F or, with
// Slope, its derivative. Dst may be Src or By of its own shape.
type MapArgs struct {
	Dst, Src, By Matrix
	F            Function
	A, B         float32 // parameters of F
	Slope        bool
	Beta         float32
}
