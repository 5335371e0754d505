// Package chunks says which pieces of a graph isolated parts train on, and what is done about the edges that they do not see.
//
// Its nouns: a Cut says in which chunk every vertex is; a Rotation which two chunks a part holds; a Schedule in which epochs; Phases which parts train together; a View is what
// a part then sees of its vertices' neighbours, and its Coverage in numbers; Weights are what a correction makes of a view.
//
// # Contract
//
// There are as many parts as chunks, c ≥ 2. Chunk i is the base of part i, which always holds it. In a super-epoch of shift t, 1 to c-1, part
// i also holds chunk (i+t) mod c, its added one, and trains on the edges among the two: those within a chunk, and those between them. A
// sweep is c-1 super-epochs, of shifts 1, 2, … c-1. So every chunk is added to every other part once in a sweep, and at each switch every
// part exchanges one chunk; with two chunks nothing moves, as each part holds the whole graph.
//
// The targets of a part are the training vertices whose loss it takes: those of its base chunk (Base), so that each is a target once in an
// epoch, or of both chunks (Both), so that each is one twice and weighs ½.
//
// Weights apply to the layers that drop edges. Let d be the in-neighbours of a row's vertex in the graph and d' those in the view, its own
// loop never counted: a loop is always there, and weighs what it does in the graph. In row v
//
//   - without EdgeWeights, what is left of a sum over neighbours stands for all of it: the sum is multiplied by d/d' (gnn.Rescale). Rows of
//     d' = 0 keep the weights of the graph;
//   - with EdgeWeights, edges keep the weights of the graph, times Own[v] within a chunk and Cross between the two. There is no d/d'.
//
// Either way the sum of the losses of a part's targets is multiplied by Factor, and the loss of each target by Loss before.
//
// All of this is a pure function of its arguments: no clock, no device, no randomness. Results do not depend on threads. A Cut and a View are
// immutable and may be shared. Arguments that come from files or flags are checked by New, which returns errors; others panic where they are wrong.
//
// # Source
//
// Grappa (Xu et al., 2025), 3.3 to 3.5. Its fixed pairs are a rotation that does not turn. A cut comes from any partitioner; the paper's default is
// rapa's Random. We differ: the paper's Eq. 4 puts this super-epoch's probabilities in the place of the long-run ones of its proof, and
// so is biased under its own sweep; LongRun has those of the proof, and Inclusion weighs edges by how often they are there. Both give the sum
// over all neighbours as the mean of a sweep, for messages that are linear in their sources. That holds for one layer: a path over three chunks is
// never in one part, whatever its edges weigh. Eq. 12 is defined where the paper's is not (correction.go).
//
// # Usage
//
//	cut, err := chunks.New(plan.Part, parts)
//	turn := chunks.Rotation{Chunks: parts}
//	at := chunks.Schedule{Rotation: turn, Epochs: 200}.At(epoch) // at.Epoch == 0: a super-epoch begins
//	view := cut.View(g, turn.Pair(i, at.Shift))
//	w := view.Weights(chunks.Inclusion, chunks.Base, train)
package chunks
