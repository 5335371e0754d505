package gpu_test

import (
	"fmt"

	"capgnn/gpu"
)

// Rows of a matrix may lie farther apart than they are wide.
func ExampleCompact() {
	m := gpu.Matrix{Rows: 2, Cols: 2, LD: 3}
	fmt.Println(gpu.Compact([]float32{1, 2, 0, 3, 4, 0}, m))
	// Output: [1 2 3 4]
}
