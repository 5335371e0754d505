// Package timeline records what the queues of devices do while something runs, and writes it as a trace that browsers draw.
//
// Its nouns: a Recorder listens to devices; a Timeline is what it has heard; a Lane is what one queue did.
//
// # Contract
//
// Begin and End are called while no goroutine enqueues. Between them devices take some more time for each operation, and nothing that they compute changes;
// before and after they take none. Inside a Lane spans are in order and do not overlap, and all lie between 0 and the Timeline's end: where a queue went
// on before its copy had arrived, the later copy is drawn from then on, and what a queue waited for is drawn where nothing else ran. Of a very long stretch the beginning
// is kept (MaxSpans).
//
// # Source
//
// Trace Event Format (Google, 2016): complete events, "ph": "X", in microseconds; chrome://tracing and https://ui.perfetto.dev open it.
//
// # Usage
//
//	r, err := timeline.Begin(devices)
//	…                                    // an epoch
//	t := r.End()
//	err = t.Write(file, "epoch 3")
package timeline
