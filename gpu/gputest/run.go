package gputest

import (
	"fmt"
	"testing"

	"capgnn/gpu"
)

// suite is every test of one device, in the order of gpu.Ops.
var suite = []struct {
	name string
	run  func(b *bench)
}{
	{"Fill", testFill},
	{"Copy", testCopy},
	{"Transpose", testTranspose},
	{"Axpby", testAxpby},
	{"ScaleRows", testScaleRows},
	{"AddScaled", testAddScaled},
	{"Map", testMap},
	{"Messages", testMessages},
	{"ColSum", testColSum},
	{"Dot", testDot},
	{"ElementwiseBF16", testElementwiseBF16},
	{"Gather", testGather},
	{"ScatterAdd", testScatterAdd},
	{"PackRows", testPackRows},
	{"PackMean", testPackMean},
	{"Gemm", testGemm},
	{"Linear", testLinear},
	{"GemmBF16", testGemmBF16},
	{"LinearBF16", testLinearBF16},
	{"SpMM", testSpMM},
	{"SpMMBF16", testSpMMBF16},
	{"Aggregate", testAggregate},
	{"AggregateBF16", testAggregateBF16},
	{"AggregateThen", testAggregateThen},
	{"Epilogue", testEpilogue},
	{"EpilogueNaN", testEpilogueNaN},
	{"EpilogueBackward", testEpilogueBackward},
	{"EpilogueOutput", testEpilogueOutput},
	{"GATScores", testGATScores},
	{"GATScoresBackward", testGATScoresBackward},
	{"GATAggregate", testGATAggregate},
	{"GATBackward", testGATBackward},
	{"GATv2Aggregate", testGATv2Aggregate},
	{"GATv2Backward", testGATv2Backward},
	{"GATDropout", testGATDropout},
	{"GATv2Dropout", testGATv2Dropout},
	{"DotAggregate", testDotAggregate},
	{"DotBackward", testDotBackward},
	{"DotDropout", testDotDropout},
	{"DroppedAlike", testDroppedAlike},
	{"HeadMean", testHeadMean},
	{"SoftmaxLoss", testSoftmaxLoss},
	{"BCELoss", testBCELoss},
	{"LossNaN", testLossNaN},
	{"LossFar", testLossFar},
	{"Adam", testAdam},
	{"SGD", testSGD},
	{"Order", testOrder},
	{"Events", testEvents},
	{"HostEvents", testHostEvents},
	{"Calls", testCalls},
	{"UploadRows", testUploadRows},
	{"Counters", testCounters},
	{"Phases", testPhases},
	{"Trace", testTrace},
	{"Memory", testMemory},
	{"Shapes", testShapes},
}

// Run holds a backend to the contract of package gpu. open returns a fresh device with at least 16 MiB; the suite
// closes it. Devices of consecutive calls must be able to live side by side: the peer tests open two.
func Run(t *testing.T, open func(t *testing.T) gpu.Device) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) { test.run(newBench(t, open(t))) })
	}
	t.Run("Devices", func(t *testing.T) { testDevices(newBench(t, open(t)), newBench(t, open(t))) })
	t.Run("Peer", func(t *testing.T) { testPeer(newBench(t, open(t)), newBench(t, open(t))) })
}

// RunProducts is the part of Run about dense products, for backends that leave these to a library if there is one.
func RunProducts(t *testing.T, open func(t *testing.T) gpu.Device) {
	for _, test := range suite {
		switch test.name {
		case "Gemm", "Linear", "GemmBF16", "LinearBF16":
			t.Run(test.name, func(t *testing.T) { test.run(newBench(t, open(t))) })
		}
	}
}

// shape is the size of a dense operand.
type shape struct{ rows, cols int }

// shapes are the sizes of elementwise and row-wise cases: none, one, around vector widths, and several blocks of rows.
var shapes = []shape{{0, 4}, {3, 0}, {1, 1}, {2, 31}, {5, 32}, {3, 33}, {2, 256}, {67, 7}, {300, 41}, {1025, 3}, {260, 100}}

// dense runs f for every shape; layouts alternate, and both are tried on the odd shapes.
func (b *bench) dense(f func(b *bench, s shape, l layout)) {
	b.Helper()
	for i, s := range shapes {
		for k, l := range layouts {
			if k != i%2 && s.rows > 100 {
				continue
			}
			b.scene(fmt.Sprintf("%dx%d_%v", s.rows, s.cols, l), func(b *bench) { f(b, s, l) })
		}
	}
}
