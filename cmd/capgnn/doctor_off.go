//go:build !cuda

package main

// examine says that there is nothing to examine.
func (d *diagnosis) examine() {
	d.problem("this build has no CUDA, so it trains on CPU devices only", "build it with `make gpu`, which needs a C compiler and neither toolkit nor driver")
}
