// Package fit is the epoch loop of every trainer: it trains, evaluates, keeps the best weights, stops when they get no better, saves
// checkpoints and reports.
//
// Its nouns: a Trainer does one of these things when it is told to; a State is where a run stands between two epochs, and what a
// checkpoint holds of the loop; Options say how many epochs there are and how often they are evaluated and saved.
//
// # Contract
//
// Run calls the methods of a Trainer one at a time, from its caller's goroutine. For every epoch: Train, then, where the epoch is to be evaluated,
// Evaluate and for the best weights so far KeepBest, then Report, then, where a checkpoint is due, Save. The State counts an epoch
// when it has been trained, and an evaluation before KeepBest, so that a Save at any time sees what has happened. At the end there is an
// evaluation if there was none, and a Save.
//
// The first error ends the run, and nothing is saved: the newest checkpoint is from before. A run that is interrupted (its context
// ends) finishes its epoch and saves a State that is not stopped, so that it can be resumed. A Trainer that can stop inside an epoch
// returns ErrInterrupted from Train or Evaluate instead, and keeps what it has done of the epoch in what it saves; the State does not count it.
//
// Time decides nothing but when a slow run is saved.
//
// # Usage
//
//	state := fit.NewState[Metrics]()
//	err := fit.Run(ctx, trainer, fit.Options{Epochs: 200, EvalEvery: 5, Patience: 10}, &state)
package fit
