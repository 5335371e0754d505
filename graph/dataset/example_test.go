package dataset_test

import (
	"fmt"

	"capgnn/graph/dataset"
)

// The same seed draws the same split on every machine; a vertex without a label is in none.
func ExampleSplit() {
	train, val, test, err := dataset.Split(6, []int32{0, 1, -1, 0, 1, 1}, 1, [3]float64{0.4, 0.2, 0.4})
	if err != nil {
		panic(err)
	}
	fmt.Println(train)
	fmt.Println(val)
	fmt.Println(test)
	// Output:
	// [false true false false true false]
	// [false false false false false true]
	// [true false false true false false]
}
