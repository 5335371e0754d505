package runfolder

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"capgnn/gpu"
	"capgnn/internal/atomicfile"
	"capgnn/internal/learn"
	"capgnn/internal/regular"
	"capgnn/internal/runfile"
	"capgnn/pipeline"
)

// Metrics appends one line per epoch to metrics.jsonl. Every line is written at once, so that a run that is killed
// leaves whole lines but for the last.
type Metrics struct {
	Path      string
	Lost      func(path string) error // as that of Events
	f         *os.File                // nil before the first line
	Policy    string
	Staleness int            // bound on the age of rows, in epochs
	Period    map[string]int // refresh period of each layer with slots
}

// maxPartsInMetrics bounds a line of metrics to about ten times what it has without parts.
const maxPartsInMetrics = 32

func phasesOf(u gpu.Usage) runfile.Phases {
	s := func(p gpu.Phase) float64 { return u.Time[p].Seconds() }
	return runfile.Phases{
		Aggregation: s(gpu.PhaseAggregation), MM: s(gpu.PhaseMM), Wait: s(gpu.PhaseWait),
		Transfer: s(gpu.PhaseTransfer), Reduce: s(gpu.PhaseReduce), Pick: s(gpu.PhasePick), Other: s(gpu.PhaseOther),
	}
}

// moved is all bytes of a usage.
func moved(u gpu.Usage) int64 { return int64(u.D2H + u.H2D + u.Peer) }

func bytesOf(u gpu.Usage) runfile.Bytes {
	return runfile.Bytes{D2H: int64(u.D2H), H2D: int64(u.H2D), Peer: int64(u.Peer)}
}

// scoresOf returns nil for an epoch that was not evaluated.
func scoresOf(eval bool, m *learn.Metrics) *runfile.Scores {
	if !eval {
		return nil
	}
	return &runfile.Scores{Train: m.Train, Val: m.Val, Test: m.Test, ValLoss: (*runfile.Loss)(m.ValLoss),
		Estimated: m.Estimated}
}

// line returns the line of one epoch.
func (m *Metrics) line(s pipeline.EpochStats) *runfile.Epoch {
	line := &runfile.Epoch{
		Epoch: s.Epoch, Loss: runfile.Loss(s.Loss), LR: s.Rate, GradNorm: (*runfile.Loss)(s.GradNorm),
		Scores: scoresOf(s.Eval, &s.Metrics),
		EpochS: s.Train.Seconds(), EvalS: s.EvalT.Seconds(), DeviceS: phasesOf(s.Usage),
		Bytes: bytesOf(s.Usage), SpMM: s.Usage.SpMM, CPUS: s.CPU.Seconds(),
		Pairs: trafficOf(s.Pairs), Meters: metersOf(s.Meters), Isolated: superEpochOf(s.Isolated),
	}
	line.Bytes.Refresh, line.Bytes.Gradients = int64(s.Halo.Bytes.Refresh), moved(s.Gradients)
	line.DeviceS.Gradients = s.Gradients.Time[gpu.PhaseTransfer].Seconds()
	for _, t := range s.CheckParts {
		line.DeviceS.Check += t.Seconds()
	}
	if s.Halo.Lookups > 0 {
		line.HaloUse = m.halo(s)
	}
	if n := len(s.Parts); n > 1 && n <= maxPartsInMetrics {
		for p, u := range s.Parts {
			times := phasesOf(u)
			if p < len(s.CheckParts) {
				times.Check = s.CheckParts[p].Seconds()
			}
			line.PartS = append(line.PartS, times)
		}
	}
	if s.TimeSteps > 0 {
		sampled(line, &s)
	} else {
		reduce := s.Reduce.Seconds()
		line.ReduceS = &reduce
	}
	return line
}

// halo returns what the line says of halo rows.
func (m *Metrics) halo(s pipeline.EpochStats) *runfile.HaloUse {
	out := &runfile.HaloUse{Cache: cacheOf(m.Policy, s.Halo),
		Staleness: runfile.Staleness{Bound: m.Staleness, MaxSeen: s.Halo.AgeMax, Mean: s.Halo.MeanAge(), Period: m.Period}}
	b := s.Halo.Bytes
	out.Halo.D2H, out.Halo.H2D, out.Halo.Peer = int64(b.D2H), int64(b.H2D), int64(b.Peer)
	return out
}

// Append writes the line of one epoch. Before the first one, lines of this epoch and later ones, left by a run that was
// stopped after its last checkpoint, are cut off.
func (m *Metrics) Append(s pipeline.EpochStats) error {
	return m.append(m.line(s))
}

func (m *Metrics) append(line *runfile.Epoch) error {
	if err := m.open(line.Epoch); err != nil {
		return err
	}
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("format metrics of epoch %d: %w", line.Epoch, err)
	}
	if _, err := m.f.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// open opens the file, if it is not open, behind its last line before epoch. It is a new file, with the lines before epoch, since
// the name may be a link to somebody else's. One that has lost its name since it was opened is written again.
func (m *Metrics) open(epoch int) error {
	lost := m.f
	if lost != nil {
		if regular.LeadsTo(m.Path, lost) {
			return nil
		}
		if err := m.Lost(m.Path); err != nil {
			return err
		}
	}
	err := atomicfile.Write(m.Path, func(w io.Writer) error {
		old, err := lost, error(nil)
		if old == nil {
			old, err = regular.Open(m.Path)
		} else {
			_, err = old.Seek(0, io.SeekStart)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer old.Close()
		keep, err := lengthBefore(old, epoch)
		if err == nil {
			_, err = io.Copy(w, io.NewSectionReader(old, 0, keep))
		}
		return err
	})
	if err == nil {
		m.f, err = regular.OpenFile(m.Path, os.O_RDWR|os.O_APPEND, 0)
	}
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// maxLine is more than a line of metrics can have.
const maxLine = 1 << 16

// lengthBefore returns how many bytes of a metrics file belong to whole lines of epochs before the given one.
func lengthBefore(r io.Reader, epoch int) (int64, error) {
	keep := int64(0)
	for in := bufio.NewReaderSize(r, maxLine); ; {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) {
			return keep, nil
		}
		if err != nil {
			return 0, err
		}
		var head struct {
			Epoch *int `json:"epoch"`
		}
		if json.Unmarshal(line, &head) != nil || head.Epoch == nil || *head.Epoch >= epoch {
			return keep, nil
		}
		keep += int64(len(line))
	}
}

// Close closes the file; a run without a single epoch leaves an empty one.
func (m *Metrics) Close() error {
	if err := m.open(math.MaxInt); err != nil {
		return err
	}
	return m.f.Close()
}
