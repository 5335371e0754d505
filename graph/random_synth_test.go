package graph_test

import (
	"capgnn/graph"
	"capgnn/graph/synth"
)

func init() { graph.Random = synth.Random }
