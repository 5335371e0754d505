// Package direction names the two passes of an epoch for all packages that tell exchanges of halo rows apart: gnn, which asks for rows,
// jaca, which gives them slots, and pipeline, which moves them.
//
// Its one noun is a Direction. In a forward pass a layer reads rows of the layer below, in a backward pass gradients of the layer above; so an
// exchange is named by its layer and its direction.
//
//	name := fmt.Sprintf("layer %d %s", 1, direction.Backward) // layer 1 backward
package direction
