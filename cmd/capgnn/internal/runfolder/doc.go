// Package runfolder is what a run is told and what it leaves behind: its settings, and the files of its folder.
//
// Its nouns: a Config, everything that decides a run; an Option, a row of the table of all flags and keys, with one name and one
// syntax on the command line and in config.yaml; a Text, a setting that is written as text and read once; a Dir, the folder, which knows its files; Metrics
// and Events, which add what an epoch says of itself to metrics.jsonl and to TensorBoard's file; a Result, what a finished run
// prints and keeps in result.json.
//
// # Contract
//
// Validate says everything that is wrong with a Config as far as it can be told without data and devices; methods that return
// its parts (Network, HaloCache, the Value of a Text) are for valid ones. FormatConfig writes what ReadConfig reads, so a run
// can be repeated from its config.yaml alone. A folder with config.yaml holds a run, one with result.json a finished one. What
// is read from a folder may come from anyone: it is bounded and never trusted. JSON keys stay as they are.
//
// It trains nothing and opens no device. It imports packages term and devices, and of the rest what settings name: pipeline,
// jaca, gnn, rapa, gpu, hostmem, graph/dataset and report. Begin with config.go, then dir.go.
//
//	cfg := runfolder.Default()
//	given, err := runfolder.ApplyFlags(c, &cfg)
//	err = cfg.Validate()
//	err = runfolder.Dir("runs/a").WriteResult(result)
package runfolder
