// Package report draws what a training run left behind as one page that opens anywhere: no network, no other file.
//
// Its nouns: a Run is what is known of one run; an Epoch is one line of its metrics; a Partition is how its graph was cut.
//
// # Contract
//
// It takes plain data, metrics.jsonl and result.json as internal/runfile reads them, and the program of the model: what
// is not there is not drawn, so a run that has not ended has a page. Nothing is opened here; writers and readers are the caller's. A page is a function of what it is given: no
// clock, no random numbers, no order of a map. Every text that comes from a run is escaped, and the page forbids itself the
// network by its content security policy.
//
// Numbers stand in the page as they stand in the files; what is drawn is computed from them here, in Go. The script shows
// the numbers under the pointer, smooths and changes scales; a page is whole without it.
//
// # Source
//
// The files are those of docs/formats/run.md; the quantities those of docs/caching.md.
//
// # Usage
//
//	run := report.Run{Name: "runs/cora-gcn", Settings: settings}
//	run.Result, err = runfile.ReadResult(resultFile)
//	run.Epochs, err = runfile.ReadEpochs(metricsFile)
//	err = report.WriteRun(out, run)          // or WriteComparison(out, runs)
package report
