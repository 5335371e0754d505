package datasets

import (
	"capgnn/graph/dataset"
	"capgnn/graph/synth"
)

// Generated is the name of the data set that needs no file.
const Generated = "generated"

// Shape of the generated graph: like Cora, but with communities that a partitioner can find.
const (
	GeneratedVertices = 4000
	GeneratedClasses  = 7
	genDegree         = 8
	genInside         = 0.8  // share of edges inside a community
	genWrong          = 0.05 // share of labels that are wrong, so that no score can be perfect
	genWords          = 600
	genLength         = 12
	genSignal         = 0.35 // share of words from a community's own topic
)

// Generate draws a graph with communities, bags of words and labels.
func Generate(seed uint64) (*dataset.Dataset, error) {
	g, block, err := synth.Blocks(GeneratedVertices, GeneratedClasses, genDegree, genInside, seed)
	if err != nil {
		return nil, err
	}
	indptr, indices, data, err := synth.Words(block, GeneratedClasses, genWords, genLength, genSignal, seed)
	if err != nil {
		return nil, err
	}
	return &dataset.Dataset{
		Name: Generated, Graph: g, Labels: synth.FlipLabels(block, GeneratedClasses, genWrong, seed), Classes: GeneratedClasses,
		Features: dataset.Features{Cols: genWords, Indptr: indptr, Indices: indices, Data: data},
	}, nil
}
