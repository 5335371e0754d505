// Package axis says where the marks of a diagram's axis are and how they are written.
//
// Its noun is an Axis: values from Lo to Hi, evenly or by their logarithms, at places From to To of a picture.
//
// Contract: an axis is a function of its ends, the kind of its numbers and the wanted number of marks. Marks are at
// 1, 2 or 5 times a power of ten of their unit, are told apart by as many digits as that needs, and read as what they
// are.
//
//	y := axis.Linear(0, 0.0123, number.Seconds, 4, true).Between(200, 10)
//	y.Place(0.005)   // where 5 ms are
//	y.Ticks[1].Text  // 5 ms
package axis
