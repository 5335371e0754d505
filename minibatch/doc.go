// Package minibatch trains on mini-batches of sampled neighbours: a step samples neighbours of some training
// vertices, its roots, and updates the weights by the gradient of their mean loss.
//
// Its nouns: Options say what is sampled and where it is computed; a Trainer is a run; EpochStats are the figures of
// an epoch; Memory is the largest memory that a run needs. Package sample decides which neighbours a vertex keeps.
//
// # Contract
//
// A step is one mini-batch: all its roots, over all parts. Its number t counts from the first step of the run;
// samples and dropout are functions of t. Each part computes its share of the roots as one stack of blocks: the next
// roots of the order, or those that are at home there. With Hop it computes in time steps one stack for each model
// that visits it; models bring the sums of their gradients. Package reduce adds the gradients of the parts in part
// order and gives every part the same weights for the next step. So the weights are a function of seed, data, parts,
// roots, their place, and model, to the bit. With Sampling.Ladies a part draws each layer for all of its roots
// together, so gradients depend on which part computes a root, and not only by rounding. The number of threads and of
// samplers, how far ahead they sample, how rows are fetched and cached, links, ranks, reruns and interruptions do not
// change results.
//
// Three questions have separate answers: what is sampled (feed), where a root is computed (roots), where its feature
// rows come from (rows). A part's goroutine takes the samples of its steps in order. Samplers, which are other
// goroutines, fill a ring of slots ahead of it. Each slot has its own memory and is filled again only after the
// device has read it. The device has two input buffers: one is filled while the device computes from the other. A CPU
// that reads most of the graph in a step has only one, into which the step is written. On a CPU evaluation uses the
// memory of inputs and activations. Nothing is allocated between steps, unless a step is larger than all before it:
// then its buffers grow, which is logged.
//
// If links are emulated between parts, or rows are cached (package rowcache), rows of other parts are fetched. One
// goroutine of a part then decides, in the order of steps, which rows are in the cache, which are fetched and which
// are kept, and asks the owners; a second one waits for answers, writes the cache and stages rows (fetch). Otherwise
// rows of other parts are read directly from host memory.
//
// A device with separate memory keeps rows of its part there (resident): a step uploads row numbers, and the device
// gathers the rows.
//
// Each rank has consecutive parts, and every rank has the whole graph. A rank requests rows of other ranks' parts by
// their ids; their owner checks requests (request, asker, answerer). Package reduce adds gradients along the ranks.
// After each step all ranks know whether another one follows (consensus). Sums over parts are gathered, so they are
// the same at every rank; rank 0 writes files. A rank that ends with an error ends all; the caller of New does that.
// The grouping of parts into ranks changes no result.
//
// Isolated parts (package chunks) sample neighbours within two chunks of the graph, and their roots are training
// vertices of these. Samplers stop where a worker changes to another pair of chunks, which is prepared during
// training. No rows are fetched: each rank reads the whole data set.
//
// When the context of Run ends, Run finishes the current step, and the run can be resumed there. Evaluation (package
// layered) is exact, unless EvalFanout asks for estimates. Every wait has a deadline, and its error says who waited
// for whom.
//
// # Source
//
// Neighbour sampling is GraphSAGE's (Hamilton, Ying, Leskovec, NeurIPS 2017). Sums over k of n neighbours, scaled by
// n/k, are unbiased per layer (Chen, Zhu, Song, ICML 2018). Hop is HopGNN's (Chen, He, Qu, Zhang, 2024) micrographs,
// pre-gathering and merging, with gradients that move in place of models; Home is ours, and reads the same rows. Two
// more things are ours: samples that depend on seed, step, hop and vertex alone, and an exact last hop, whose sums
// are made once (docs/mathematics.md).
//
// # Usage
//
//	t, err := minibatch.New(ctx, problem, minibatch.Options{Devices: devices,
//		Training: minibatch.Training{Model: model, Optimizer: rule, Epochs: 30, EvalEvery: 1},
//		Sampling: minibatch.Sampling{BatchSize: 1024, Fanout: []int{15, 10, sample.All}}})
//	if err != nil {
//		return err
//	}
//	defer t.Close()
//	result, err := t.Run(ctx)
package minibatch
