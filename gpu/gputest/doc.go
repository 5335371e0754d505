// Package gputest is the conformance suite of the device interface: every backend runs the same one in its own tests.
//
// Its nouns: a bench is a device under test with host copies of what was put on it; a case is one call of one operation.
//
// # Contract
//
// Run compares each operation with its loop in package internal/ref, over shapes that are empty, single, odd, or wide,
// with row strides larger than rows and views that begin inside a block. Every buffer has a guard around its view, filled
// with NaN: an element outside the view that changes fails the case, and so does a source that changes. Destinations
// that an operation must not read hold NaN.
//
// RunThreads demands equal bits from devices that differ in threads only. RunFault demands the behaviour of a faulted
// queue; the backend says how to make one fail.
//
// Tolerances. For an element whose loop adds k terms, |got - want| ≤ 4·u·√(k+8)·Σ|terms|, with u = 2⁻²⁴ the rounding unit
// of float32: the standard deviation of a sum of k independent roundings is below u·√k·Σ|terms|, and 8 more roundings pay
// for scales, exponentials and the like. Terms below the range of float32 may be flushed to 0 (see flushed). Where a result passes through more than one sum, the case states its terms.
//
// Tensor cores cut off what they add at about 2⁻²³ of the sum, once for 16 of k (8 on sm_80): at k = 1000, the longest sum,
// by at most 125 (250) u·Σ|terms|, if all terms have one sign and each cut is the largest. The tolerance is 127 there, and
// terms have both signs, so partial sums are about √k terms large. Products of two bf16 are exact in float32.
//
// # Source
//
// The doc comments of gpu.Ops.
//
// # Usage
//
//	func TestConformance(t *testing.T) {
//		gputest.Run(t, func(t *testing.T) gpu.Device {
//			dev, err := host.Open(host.Spec{Name: "cpu:0", Threads: 2, Memory: 64 << 20, Poison: true})
//			if err != nil {
//				t.Fatal(err)
//			}
//			return dev
//		})
//	}
package gputest
