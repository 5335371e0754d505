//go:build !amd64 || noasm

package kernel

import "capgnn/gpu/host/workers"

// Without assembly nothing measures the machine, and shares of its limits are left out.

func fmaPeak(*workers.Pool) float64               { return 0 }
func streamRate(*workers.Pool, []float32) float64 { return 0 }
func gatherRate(*workers.Pool, []float32) float64 { return 0 }
