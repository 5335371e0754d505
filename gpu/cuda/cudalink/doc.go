// Package cudalink lets a program hold gorgonia.org/cu and start on a machine without a CUDA driver.
//
// Its one noun is the driver: a shared library that Open loads while the program runs.
//
// # Contract
//
// The package defines every driver call that gorgonia.org/cu and package cuda make, as hidden symbols of the program; each
// jumps to where the driver has it. So the program needs no libcuda at start, and a driver that is loaded later keeps its
// own symbols. Before Open a call answers CUDA_ERROR_NO_DEVICE; a call that the driver lacks answers CUDA_ERROR_NOT_FOUND.
// cuInit, which gorgonia.org/cu calls while the program starts and ends it on an error, does nothing; Open calls the
// driver's. Without the build tag cuda the package is empty.
//
// Every program that imports gorgonia.org/cu must import this package too. symbols.sh makes the list of calls from the
// declarations in gpu/cuda/header; a test compares.
//
// # Source
//
// Ours. gorgonia.org/cu links with -lcuda; the empty archive in stub satisfies that.
//
// # Usage
//
//	if _, err := cudalink.Open("libcuda.so.1"); err != nil {
//		// no driver: err says why
//	}
package cudalink
