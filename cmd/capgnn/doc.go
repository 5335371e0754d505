// Command capgnn trains graph neural networks, full-batch or on samples, on the devices of one machine or of several.
//
// It is flags and printing: one file or a few for each command (demo, train, plan, partition, predict, report, data, profile,
// bench, doctor, completion, man, version), and help. What commands do lies in the rooms below internal, each of which imports only
// those before it: term (console, errors, exit codes); devices and diskcache; runfolder (a Config, everything that decides a run,
// and the files that it leaves); datasets; training (a Run, from settings to result); prediction and experiments.
//
// # Contract
//
// With its rooms this is the only package that opens devices, reads flags and environment variables, and prints. Results go to
// standard output, everything else to standard error. Errors are one line on standard error and map to an exit code in term/exit.go:
// 0 done, 1 failure, 2 wrong usage or input, 3 does not fit, 4 device lost during a run, 130 interrupted.
// Every decision that came from a measurement is written to the run's config.yaml, so that `train --config` repeats it.
//
// Described for users in docs/guide/devices.md (lists of devices), docs/formats/run.md (files of a run) and docs/determinism.md; flags by
// `capgnn man`, which is made of them.
//
// # Usage
//
//	capgnn demo
//	capgnn profile --devices cpu:threads=1,cpu:threads=1,slow=3
//	capgnn train --dataset cora_ml --model sage --devices cpu:0,cpu:1
//	capgnn train --dataset ./store --epochs 50 --json | tail -n 1
//	capgnn train --dataset ppi --model sage --batch-size 1024
//	capgnn train --resume runs/cora_ml-sage-20260102-150405
//	capgnn train --config runs/cora_ml-sage-20260102-150405/config.yaml --seed 2
package main
