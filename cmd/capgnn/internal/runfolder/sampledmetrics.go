package runfolder

import (
	"fmt"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/number"
	"capgnn/minibatch"
	"capgnn/pipeline"
)

// sampledLine is the line of an epoch of sampled training. Keys that full-batch training has, too, mean the same.
type sampledLine struct {
	Epoch int       `json:"epoch"`
	Loss  lossValue `json:"loss"` // mean over the epoch's roots, each before the update of its step
	rates
	*metricsScores
	EpochS        float64      `json:"epoch_s"`
	EvalS         float64      `json:"eval_s"`
	DeviceSeconds phaseTimes   `json:"device_s"`
	PartSeconds   []phaseTimes `json:"part_s,omitempty"`
	Bytes         epochBytes   `json:"bytes"`
	SpMM          int64        `json:"spmm"`
	sampledWork
	TimeSteps   int           `json:"time_steps"`   // of each step: 1, or as many as HopGNN has
	SlowestPart int           `json:"slowest_part"` // whose device computed longest
	PartWork    []partWork    `json:"part_work,omitempty"`
	Pairs       []RankTraffic `json:"pairs,omitempty"` // left out where there is one process
	Meters      []gpu.Metered `json:"meters,omitempty"`
	Isolated    *superEpoch   `json:"isolated,omitempty"`
}

// partWork is what one part did in an epoch.
type partWork struct {
	Roots int64       `json:"roots"`
	Rows  sampledRows `json:"rows"`
	TimeS stepSeconds `json:"time_s"`
}

// sampledWork is what steps have done. Times are seconds, summed over parts.
type sampledWork struct {
	Steps     int         `json:"steps"`
	Edges     int64       `json:"edges"`       // sampled, loops that the model adds not counted
	EdgesPerS float64     `json:"edges_per_s"` // of the wall time of training
	Rows      sampledRows `json:"rows"`
	Requests  int64       `json:"requests"` // of rows: one for each step, part that reads and part that is asked
	TimeS     stepSeconds `json:"time_s"`
	CPUS      float64     `json:"cpu_s"` // of the whole process, or of all ranks
}

// sampledRows counts rows of features that steps read, each vertex once in a step of a part.
type sampledRows struct {
	Read      int64 `json:"read"`      // local + hit + fetched
	Local     int64 `json:"local"`     // of the part itself
	Hit       int64 `json:"hit"`       // of another part, in the part's cache
	Fetched   int64 `json:"fetched"`   // of another part, and come from there
	Evicted   int64 `json:"evicted"`   // left the cache
	Prefilled int64 `json:"prefilled"` // came to the cache in a step that did not read them
}

// stepSeconds is where the time of steps went. Sampling and staging run beside the rest.
type stepSeconds struct {
	Sample  float64 `json:"sample"`
	Decide  float64 `json:"decide"`
	Fetch   float64 `json:"fetch"`
	Stage   float64 `json:"stage"`
	Upload  float64 `json:"upload"`
	Compute float64 `json:"compute"`
	Wait    float64 `json:"wait"`
}

func sampledWorkOf(c *minibatch.Counts, took time.Duration) sampledWork {
	w := sampledWork{Steps: c.Steps, Edges: c.Edges, Rows: sampledRows(c.Rows), Requests: c.Requests, CPUS: c.CPU.Seconds(),
		TimeS: stepSecondsOf(&c.Time)}
	if took > 0 {
		w.EdgesPerS = float64(c.Edges) / took.Seconds()
	}
	return w
}

func stepSecondsOf(t *minibatch.Times) stepSeconds {
	return stepSeconds{t.Sample.Seconds(), t.Decide.Seconds(), t.Fetch.Seconds(), t.Stage.Seconds(), t.Upload.Seconds(), t.Compute.Seconds(), t.Wait.Seconds()}
}

// sampledBytes is the traffic of sampled training: by route, and what goes from part to part.
func sampledBytes(u gpu.Usage, t minibatch.Traffic) epochBytes {
	return epochBytes{routeBytes: routeBytesOf(u), Gradients: t.Gradients, Carried: t.Carried, Rows: t.Rows, IDs: t.IDs}
}

func sampledLineOf(s *minibatch.EpochStats) sampledLine {
	line := sampledLine{Epoch: s.Epoch, Loss: lossValue(s.Loss), rates: rates{s.Rate, (*lossValue)(s.GradNorm)}, EpochS: s.Train.Seconds(), EvalS: s.EvalT.Seconds(), DeviceSeconds: phaseTimesOf(s.Usage),
		Bytes: sampledBytes(s.Usage, s.Bytes), SpMM: s.Usage.SpMM, sampledWork: sampledWorkOf(&s.Counts, s.Train), TimeSteps: s.TimeSteps, SlowestPart: s.Slowest, Pairs: trafficOf(s.Pairs), Meters: metersOf(s.Meters)}
	line.DeviceSeconds.Gradients = s.Gradients.Time[gpu.PhaseTransfer].Seconds()
	if x := s.Isolated; x != nil {
		line.Isolated = superEpochOf(&pipeline.SuperEpoch{Shift: x.Shift, Phases: x.Phases, Switches: x.Switches, Switch: x.Switch, Coverage: x.Coverage})
	}
	if s.Eval {
		line.metricsScores = &metricsScores{s.Metrics.Train, s.Metrics.Val, s.Metrics.Test, (*lossValue)(s.Metrics.ValLoss), s.Metrics.Estimated}
	}
	if n := len(s.Parts); n > 1 && n <= maxPartsInMetrics {
		for _, u := range s.Parts {
			line.PartSeconds = append(line.PartSeconds, phaseTimesOf(u))
		}
		for i := range s.Work {
			w := &s.Work[i]
			line.PartWork = append(line.PartWork, partWork{w.Roots, sampledRows(w.Rows), stepSecondsOf(&w.Time)})
		}
	}
	return line
}

// AppendSampled writes the line of one epoch of sampled training, as Append does.
func (m *Metrics) AppendSampled(s minibatch.EpochStats) error {
	return m.append(s.Epoch, sampledLineOf(&s))
}

// AppendSampled writes the values of one epoch of sampled training, as Append does, and how many edges were sampled per second.
func (f *Events) AppendSampled(s minibatch.EpochStats) error {
	rate := sampledWorkOf(&s.Counts, s.Train).EdgesPerS
	return f.append(curves{s.Epoch, s.Loss, s.Train, s.Eval, s.Metrics, rates{s.Rate, (*lossValue)(s.GradNorm)}}, scalar("sampling/edges_per_second", rate),
		scalar("sampling/rows_read", float64(s.Rows.Read)), scalar("sampling/rows_hit", float64(s.Rows.Hit)), scalar("sampling/rows_fetched", float64(s.Rows.Fetched+s.Rows.Prefilled)))
}

// runSampling is what the steps of a run were, and what they have done in all.
type runSampling struct {
	BatchSize int    `json:"batch_size"`
	Fanout    string `json:"fanout"`   // nearest the roots first
	Sampling  string `json:"sampling"` // as it was settled: fetch is not auto
	sampledWork
	drawn, how string
	Refilled   int64 `json:"refilled"` // rows that a resumed run fetched to have its caches again; rows and bytes do not count them
}

// AddSampling adds what steps have done to the result of a run that trained on samples, by settings in which nothing is left open.
func (r *Result) AddSampling(cfg *Config, settled Sampling, t *minibatch.Totals) {
	r.Sampling = &runSampling{cfg.BatchSize, cfg.Fanout.String(), settled.String(), sampledWorkOf(&t.Counts, t.TrainTime), Drawn(cfg.Sampler, cfg.Fanout.String()), settled.brief(), t.Refilled}
	r.Bytes = sampledBytes(t.Usage, t.Bytes)
}

// EdgeRate writes how many edges are sampled in a second.
func EdgeRate(perSecond float64) string { return number.Rate(perSecond/1e6, "M edges") }

// lines are how steps were made and where their rows came from, in 80 columns behind a name.
func (s *runSampling) lines() []string {
	rows := &s.Rows
	share := func(n int64) string { return term.Percentage(float64(n) / float64(max(1, rows.Read))) }
	from := fmt.Sprintf("%s rows of features", term.Grouped(rows.Read))
	switch {
	case rows.Hit+rows.Prefilled > 0:
		from = fmt.Sprintf("%s rows: %s own, %s in caches, %s fetched", term.Grouped(rows.Read), share(rows.Local), share(rows.Hit), share(rows.Fetched))
	case rows.Fetched > 0:
		from += fmt.Sprintf(", %s of them fetched from other parts", term.Grouped(rows.Fetched))
	}
	lines := []string{fmt.Sprintf("%s of %s, %s", term.Counted(s.Steps, "step"), term.Counted(s.BatchSize, "root"), s.drawn), s.how,
		fmt.Sprintf("%s edges, %s", term.Grouped(s.Edges), EdgeRate(s.EdgesPerS)), from}
	if rows.Prefilled > 0 {
		lines = append(lines, fmt.Sprintf("%s rows fetched to fill caches", term.Grouped(rows.Prefilled)))
	}
	return lines
}
