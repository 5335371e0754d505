// Package minibatch trains on mini-batches of sampled neighbours: a step samples neighbours of some training vertices, its roots, and updates the weights by the
// gradient of their mean loss.
//
// Its nouns: Options say what is sampled and where it is computed; a Trainer is a run; EpochStats is what an epoch took; Memory is what a run will take at
// most. Package sample decides which neighbours a vertex keeps.
//
// # Contract
//
// A step is one mini-batch: all its roots, over all parts. Its number t counts from the first step of the run, and samples and dropout are functions of t. Each part
// computes its share of the roots, the next ones in order or those that are at home there, as one stack of blocks. With Hop it computes one stack for each model that
// comes by, in time steps; models bring the sums of their gradients along. Package reduce adds the gradients of the parts in part order, and gives every part equal
// weights for the next step. So the weights are a function of seed, data, parts, roots, their place and model, to the bit.
// With Sampling.Ladies a part's hops draw layers for all of its roots together, so that gradients depend on which part computes a root beyond rounding.
// The number of threads and of samplers, how far ahead they sample, how rows are fetched and kept, links, ranks, reruns and interruptions change nothing.
//
// Three questions are answered apart: what is sampled (feed), where a root is computed (roots), where its feature rows come from (rows). A part's goroutine
// takes the samples of its steps in order. Samplers, which are other goroutines, fill a ring of slots ahead of it; each slot has memory of its own, and is filled
// again only when the device has read it. The device has two inputs: one is filled while the other is computed from. A CPU that reads most of the graph in a step has
// one input alone, and the step is written there. On a CPU evaluation has the room of inputs and activations in turn. Nothing is allocated between steps, unless
// a step is larger than all before it: then its buffers grow, which is logged.
//
// Where links are emulated between parts, or rows are kept (package rowcache), rows of other parts are fetched: behind the samplers one goroutine of a part decides, in the order of
// steps, what its cache has, what is fetched and what is kept, and asks the owners; another one waits for answers, writes the cache and stages rows (fetch). Otherwise
// rows of other parts are read as own ones.
//
// A device with memory of its own keeps rows of its part there (resident): a step uploads their numbers, and the device gathers them.
//
// Over several ranks each has contiguous parts, and all of them the whole graph. Rows of parts of another rank are asked for by requests of ids, and checked there (request, asker,
// answerer); package reduce adds gradients along the ranks; behind each step all know whether another one follows (consensus). What is summed over parts is gathered, so it is the same at every rank;
// rank 0 writes. A rank that ends with an error ends all, by whoever called New. Grouping of parts into ranks changes nothing.
//
// Isolated parts (package chunks) draw neighbours within two chunks of the graph, and have training vertices of these as roots; their
// samplers stop where a worker gets another pair, which is made beside training. No rows are fetched: each rank reads the whole data set.
//
// When the context of Run ends, Run finishes the step that it is in; the run can be resumed there. Evaluation (package layered) is exact, unless estimates are asked for (EvalFanout). Every wait has a
// deadline, and its error says who waited for whom.
//
// # Source
//
// Neighbour sampling is GraphSAGE's (Hamilton, Ying, Leskovec, NeurIPS 2017). Sums over k of n neighbours, scaled by n/k, are unbiased per layer (Chen, Zhu, Song,
// ICML 2018). Hop is HopGNN's (Chen, He, Qu, Zhang, 2024) micrographs, pre-gathering and merging, with gradients that move in place of models; Home is ours, and reads the
// same rows. Two more things are ours: samples that depend on seed, step, hop and vertex alone, and an exact last hop, whose sums are made once (docs/mathematics.md).
//
// # Usage
//
//	t, err := minibatch.New(ctx, problem, minibatch.Options{Model: model, Optimizer: rule, Epochs: 30, EvalEvery: 1, Devices: devices,
//		Sampling: minibatch.Sampling{BatchSize: 1024, Fanout: []int{15, 10, sample.All}}})
//	if err != nil {
//		return err
//	}
//	defer t.Close()
//	result, err := t.Run(ctx)
package minibatch
