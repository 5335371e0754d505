// Package levels runs a test once for each instruction set that kernels are written for.
//
// The tests of kernels and those of devices, in two packages, choose kernels in the same way: they set the variable that names
// the instruction set in use. It is here so that both leave it as it was, and both know what the race detector cannot see.
package levels
