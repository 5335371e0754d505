package tensors_test

import (
	"fmt"

	"gorgonia.org/tensor"

	"capgnn/tensors"
)

// A transposed tensor, [vertices, columns], becomes features: its rows, one behind the other.
func ExampleFeatures() {
	x := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	if err := x.T(); err != nil {
		panic(err)
	}
	features, err := tensors.Features(x)
	if err != nil {
		panic(err)
	}
	fmt.Println(features.Cols, features.Dense)
	// Output: 2 [1 4 2 5 3 6]
}
