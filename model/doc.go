// Package model is what a graph neural network computes, as data: a program, from which backward pass, exchanges,
// needed rows and buffers are derived.
//
// Its nouns: a Program is a list of Nodes without loops; a node reads earlier ones by number, and has a Space and a
// shape. The first nodes are the tensors of the state_dict. Graphs are made from that of the data set. GCN, SAGE, …
// build the models that have a name.
//
// # Spaces and shapes
//
// A value of space Vertices has a row for each vertex, one of space Edges(g) a row for each edge of graph g, and one
// of space Global is the same everywhere. A node's Shape is what lies behind the row: [] for a number, [64] for 64
// columns, [8, 16] for 8 heads of 16; of Global values it is the whole shape. Where two shapes meet, they are
// broadcast from their last axis on, as in NumPy. Values of Vertices and Edges never meet but by Src, Dst and the sums
// over in-edges.
//
// # Contract
//
// A Program is valid: Add and Read accept nothing else. It is not changed once it is built. A file is not trusted:
// sizes are checked before memory is taken, and every error is one line that names the file and the node
// (docs/formats/model.md). Write makes one text of a program, and SHA256 its identity. The package knows neither
// devices nor parts.
//
// # Usage
//
//	p, err := model.Read("net.json")
//	// ...
//	reach := p.Reach() // rows of which hop are needed
//	for i, n := range p.Nodes {
//		fmt.Println(n.Name, n.Op, n.Space, n.Shape, reach[i])
//	}
package model
