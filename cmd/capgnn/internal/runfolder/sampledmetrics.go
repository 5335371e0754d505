package runfolder

import (
	"fmt"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/number"
	"capgnn/internal/runfile"
	"capgnn/internal/tfevents"
	"capgnn/minibatch"
)

func workOf(c *minibatch.Counts, took time.Duration) *runfile.Work {
	w := &runfile.Work{Steps: c.Steps, Edges: c.Edges, Rows: runfile.Rows(c.Rows), Requests: c.Requests,
		TimeS: stepSecondsOf(&c.Time)}
	if took > 0 {
		w.EdgesPerS = float64(c.Edges) / took.Seconds()
	}
	return w
}

func stepSecondsOf(t *minibatch.Times) runfile.StepSeconds {
	return runfile.StepSeconds{Sample: t.Sample.Seconds(), Decide: t.Decide.Seconds(), Fetch: t.Fetch.Seconds(),
		Stage: t.Stage.Seconds(), Upload: t.Upload.Seconds(), Compute: t.Compute.Seconds(), Wait: t.Wait.Seconds()}
}

// sampledBytes is the traffic of sampled training: by route, and what goes from part to part.
func sampledBytes(u gpu.Usage, t minibatch.Traffic) runfile.Bytes {
	b := bytesOf(u)
	b.Gradients, b.Carried, b.Rows, b.IDs = int64(t.Gradients), int64(t.Carried), int64(t.Rows), int64(t.IDs)
	return b
}

// sampled adds to the line of an epoch what steps have done.
func sampled(line *runfile.Epoch, s *minibatch.EpochStats) {
	line.Bytes, line.Work = sampledBytes(s.Usage, s.Bytes), workOf(&s.Counts, s.Train)
	line.TimeSteps, line.SlowestPart = s.TimeSteps, &s.Slowest
	if len(line.PartS) == 0 {
		return
	}
	for i := range s.Work {
		w := &s.Work[i]
		line.PartWork = append(line.PartWork,
			runfile.PartWork{Roots: w.Roots, Rows: runfile.Rows(w.Rows), TimeS: stepSecondsOf(&w.Time)})
	}
}

// stepsOf returns how many edges were sampled per second, and where rows came from.
func stepsOf(s *minibatch.EpochStats) []tfevents.Scalar {
	rate, rows := workOf(&s.Counts, s.Train).EdgesPerS, &s.Rows
	return []tfevents.Scalar{scalar("sampling/edges_per_second", rate), scalar("sampling/rows_read", float64(rows.Read)),
		scalar("sampling/rows_hit", float64(rows.Hit)), scalar("sampling/rows_fetched", float64(rows.Brought()))}
}

// AddSampling adds what steps have done to the result of a run that trained on samples, by settings in which nothing is left open.
func (r *Result) AddSampling(cfg *Config, settled Sampling, t *minibatch.Totals) {
	fanout := cfg.Fanout.String()
	r.Sampling = &runfile.Sampling{BatchSize: cfg.BatchSize, Fanout: fanout, Sampling: settled.String(),
		Work: *workOf(&t.Counts, t.TrainTime), CPUS: t.CPU.Seconds(), Refilled: t.Refilled}
	r.drawn, r.how = Drawn(cfg.Sampler, fanout), settled.brief()
	r.Bytes = sampledBytes(t.Usage, t.Bytes)
}

// EdgeRate writes how many edges are sampled in a second.
func EdgeRate(perSecond float64) string { return number.Rate(perSecond/1e6, "M edges") }

// samplingLines are how steps were made and where their rows came from, in 80 columns behind a name.
func (r *Result) samplingLines() []string {
	s, rows := r.Sampling, &r.Sampling.Rows
	share := func(n int64) string { return term.Percentage(float64(n) / float64(max(1, rows.Read))) }
	from := fmt.Sprintf("%s rows of features", term.Grouped(rows.Read))
	switch {
	case rows.Hit+rows.Prefilled > 0:
		from = fmt.Sprintf("%s rows: %s own, %s in caches, %s fetched", term.Grouped(rows.Read), share(rows.Local), share(rows.Hit), share(rows.Fetched))
	case rows.Fetched > 0:
		from += fmt.Sprintf(", %s of them fetched from other parts", term.Grouped(rows.Fetched))
	}
	lines := []string{fmt.Sprintf("%s of %s, %s", term.Counted(s.Steps, "step"), term.Counted(s.BatchSize, "root"), r.drawn), r.how,
		fmt.Sprintf("%s edges, %s", term.Grouped(s.Edges), EdgeRate(s.EdgesPerS)), from}
	if rows.Prefilled > 0 {
		lines = append(lines, fmt.Sprintf("%s rows fetched to fill caches", term.Grouped(rows.Prefilled)))
	}
	return lines
}
