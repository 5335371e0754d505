// Package minibatch trains on samples: a step draws neighbours of some training vertices, its roots, and updates the weights by the gradient of their loss.
//
// Its nouns: Options say what is sampled and where it is computed; a Trainer is a run; EpochStats is what an epoch took; Memory is what a run takes, before it
// begins. Which neighbours a vertex keeps is package sample's.
//
// # Contract
//
// A step is one mini-batch of all its roots over all parts. Its number t counts from the first step of the run and feeds samples and dropout. Each part
// computes its share of the roots as one stack of blocks; the gradients are added in part order by package reduce, and every part goes on with equal weights. So
// the weights are a function of seed, data, parts, roots and model, to the bit: threads, goroutines that sample, how far they sample ahead, links, reruns and
// interruptions change nothing.
//
// Three things are kept apart: what is sampled (feed), where a root is computed (roots), where its rows come from (rows). A part's goroutine takes the samples of its
// steps in order; goroutines that sample fill a ring of slots ahead of it, each of them memory of its own. A slot is filled again when the device has read it. The
// device has two inputs: one is filled while the other is computed from. Nothing is allocated between steps, but where a step is larger than all before: that
// is logged.
//
// Run ends behind the step that it is in when its context ends; the run can be resumed there. Evaluation is exact (package layered). Every wait has a deadline, and
// its error says who waited for whom.
//
// # Source
//
// GraphSAGE (Hamilton, Ying, Leskovec, NeurIPS 2017) trains so; sums over neighbours that are scaled by n/k are unbiased per layer (Chen, Zhu, Song, ICML 2018).
// Samples that depend on seed, step, hop and vertex alone are ours, and so is the exact last hop, whose sums are made once (docs/mathematics.md).
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
