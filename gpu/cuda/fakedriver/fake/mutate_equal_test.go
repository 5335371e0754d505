//go:build cuda

package fake

// broken is a mutant: a kernel, what was done to it, and to which line.
type broken struct{ kernel, mutation, line string }

// equals are the mutants that compute the same as the kernel does, with the reason of each. TestMutations demands that no other is
// missed, and that none of these is found.
var equals = map[broken]string{
	{"transpose", nextRow, "mul.lo.s64 %rd4, %rd3, %rd51;"}:              "more tiles, which begin below the last row: nothing in them is read or written",
	{"transpose", offByOne, "setp.le.s64 %p1, %rd4, %rd119;"}:            "a block beyond the last tile does one below the last row: nothing in it is read or written",
	{"transpose", offByOne, "setp.lt.s64 %p55, %rd119, %rd4;"}:           "likewise, at the end of the loop",
	{"transpose", offByOne, "setp.gt.u32 %p3, %r1, 1023;"}:               "the 1024th thread of a block that has 256",
	{"scatter_add", offByOne, "setp.lt.s64 %p17, %rd49, %rd20;"}:         "32 more rows, none of which is below their number",
	{"gemm_nn64", offByOne, "setp.lt.s32 %p8, %r170, %r157;"}:            "the smaller of two numbers, at the border where they are equal",
	{"gemm_nn64", offByOne, "setp.ge.s32 %p10, %r642, %r3;"}:             "the loop begins 16 before the first k, which is never the end",
	{"gemm_nn64", offByOne, "setp.ge.s32 %p11, %r177, %r3;"}:             "a panel of zeros beyond the last k, fetched and never multiplied: nothing of it is read from memory",
	{"gemm_nn64", offByOne, "setp.gt.s32 %p190, %r633, 0;"}:              "without pieces (split = 0) the grid has one block along y, whose part begins at 0",
	{"softmax_loss", offByOne, "setp.gt.s32 %p72, %r286, 1048575;"}:      "in the logarithm: whether the sum is subnormal; it is 1 at least, or no number",
	{"softmax_loss", offByOne, "setp.lt.u32 %p73, %r226, 2146435071;"}:   "in the logarithm: whether the sum is infinite; it is the number of classes at most, or no number",
	{"softmax_loss", offByOne, "setp.lt.s32 %p75, %r230, 1073127583;"}:   "in the logarithm: how a sum just below √2 is reduced; all 32 sums of float32 there come to the same float64 both ways",
	{"epilogue_backward", offByOne, "setp.ge.s32 %p307, %r974, %r164;"}:  "lanes behind the last column add a group of no columns",
	{"epilogue_backward", offByOne, "setp.lt.s32 %p103, %r1004, %r164;"}: "likewise, at the end of the loop",
	{"epilogue_backward", offByOne, "setp.lt.s32 %p36, %r508, %r164;"}:   "a group of four that ends the row has four columns either way",
	{"epilogue_backward", offByOne, "setp.lt.s32 %p116, %r666, %r164;"}:  "likewise, where gradients are stored",
	{"epilogue_backward", offByOne, "setp.gt.u32 %p280, %r2, 63;"}:       "blocks have whole warps: 32, 64 or more threads, never 63",
}
