// Package golden reads the reference cases that PyTorch computed in float64. Tests only.
//
// Its nouns: a Case is one model on one small graph with its weights, logits, loss, gradients and five Adam steps; a
// Tensor is an array of it; Dims are the sizes of the model, derived from the weights.
//
// # Contract
//
// Load reads every testdata/golden/*.npz of the repository that holds the working directory, as tests have it, and
// checks that the shapes of a case agree with each other. Cases come in the order of their names, tensors in the order
// of the file. Everything returned belongs to the caller.
//
// # Source
//
// docs/mathematics.md, "How it is tested": PyTorch 1.13 and PyTorch Geometric's BasicGNN, without dropout. GAT has two heads. Graphs have no
// self-loops; GCN and GAT were computed with self-loops added, SAGE and GIN without. Cases KIND_weighted, which have edge weights, and GCN's some
// self-loops, are made by testdata/weighted_reference.py; cases KIND_residual, whose hidden layers add what they read, by testdata/residual_reference.py; cases KIND_jumping, with jumping knowledge,
// and KIND_plain, without LayerNorm, by testdata/blocks_reference.py.
//
// # Usage
//
//	cases, err := golden.Load()
//	for _, c := range cases {
//		w := model(c.Kind, c.Dims())
//		logits := forward(w, c.Indptr, c.Indices, c.X)
//		if d := golden.Distance(logits, c.Logits.Data); d > golden.Tolerance(c.Logits.Data) {
//			t.Errorf("%s: logits are %g away", c.Name, d)
//		}
//	}
package golden
