package gpu

// PackArgs quantises rows for a narrow link: Bits bits per element and a scale per row. For every row k of Dst, with i = Rows[k]
// (k itself where Rows is empty), and x = Src[i], in float32 with every operation rounded by itself, in 8 bits:
//
//	m     = max_j |x[j]|
//	scale = m / 127;  0 if that is below 2⁻¹²⁶;  0x7FC00000 (NaN) if an x[j] is NaN or infinite
//	u[j]  = (2·h + 1)·2⁻¹⁷,  h = the low half of a random word if ⌊j/16⌋ is even, else its high half: word j mod 4 of
//	        Philox(counter (4·⌊j/32⌋ + ⌊j/4⌋ mod 4, IDs[i], Stream, Epoch), key Seed)
//	q[j]  = ⌊x[j]/scale + u[j]⌋, not below -127 and not above 127;  0 if scale is 0 or NaN
//
// In 2 bits a row has an offset too, and both are bf16s:
//
//	low   = min_j x[j], rounded down to a bf16;  +0 if that is 0 or there is no x[j]
//	scale = (max_j x[j] - low)/3, rounded up to a bf16;  0 if it is below 2⁻¹²⁶ before;  NaN, and low 0, if an x[j] is NaN or
//	        the difference is not finite
//	q[j]  = ⌊(x[j] - low)/scale + u[j]⌋, which is from 0 to 3;  0 if scale is 0 or NaN
//
// A packed row is a word, then q[0], q[1], … in Bits bits each (two's complement in 8), the first one lowest, then zeros up to a
// multiple of four bytes: PackedWords(Src.Cols, Bits) words, little endian. The first word is the scale as a float32; in 2 bits its
// upper half is the scale and its lower half the offset. Dst is an FP32 matrix of so many columns whose elements are
// these words and no numbers: it may be copied (CopyFrom, Upload, Download) and unpacked, nothing else.
//
// Rounding is stochastic: u[j] is spread evenly over (0, 1), so what UnpackRows returns is x[j] on average over the epochs
// (to 2⁻¹⁶ of the scale), and its error is below scale·(1 + 2⁻¹⁷) in every one of them, in 2 bits plus 2⁻²²·max_j |x[j]|;
// below 127·2⁻¹²⁶ where scale is 0, in 2 bits 4·2⁻¹²⁶. (For |x[j]| < 2¹²⁶: beyond, sums may round to infinity.) A row with a
// NaN or an infinity becomes NaN as a whole.
// The words are equal on every backend. A word serves elements j and j + 16, so that no backend moves random words between lanes.
type PackArgs struct {
	Bits   int    // 8 or 2
	Dst    Matrix // rows × PackedWords(Src.Cols, Bits)
	Src    Matrix // may be BF16
	Rows   Ints   // of Src, in any order; empty: all of them
	IDs    Ints   // original vertex id of every row of Src
	Seed   uint64
	Stream uint32 // PackStream: no other draw of the epoch has the same
	Epoch  uint32
}

// PackedWords returns the columns of an FP32 matrix that holds packed rows of so many elements.
func PackedWords(cols, bits int) int { return 1 + (cols*bits+31)/32 }

// PackStream returns PackArgs.Stream for the rows that a layer exchanges in one direction or the other. Dropout's are the
// numbers of layers, which are below 2³¹.
func PackStream(layer int, backward bool) uint32 {
	s := 1<<31 | uint32(layer)<<1
	if backward {
		s++
	}
	return s
}
