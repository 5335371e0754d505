// Package experiments repeats the experiments of the paper, and ours: what capgnn bench runs.
//
// Its nouns: an Experiment, which says what cells it wants and shows them; a cell, one number of the tables, such as one run
// that is simulated or trained; a setting, what such a run differs in from the defaults of train; a Bench, a run of
// experiments that write into one folder.
//
// # Contract
//
// Every cell becomes one line of cells.jsonl when it is measured, and is not measured again: the same command goes on where
// an interrupted one was. Tables, figures and pages follow from the lines alone. Times of simulated devices are simulated;
// scores come from training on CPU devices, on the same parts.
//
// Runs are made by package training; lines and pages are of internal/bench. Begin with experiments.go and setting.go; each
// experiment has a file of its own.
//
//	b, err := experiments.New(k, options, false)
//	err = b.Run(ctx, experiments.All(), true)
package experiments
