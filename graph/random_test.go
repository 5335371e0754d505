package graph

// Random is synth.Random. Package synth imports this one, so tests inside this package get it from random_synth_test.go.
var Random func(n, m int, directed bool, seed uint64) (*CSR, error)
