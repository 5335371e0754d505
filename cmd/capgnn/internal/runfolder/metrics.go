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
	"strconv"

	"capgnn/gpu"
	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
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

// metricsLine is one line. Times are seconds, summed over devices where they come from queues.
type metricsLine struct {
	Epoch int       `json:"epoch"`
	Loss  lossValue `json:"loss"`
	rates
	*metricsScores
	EpochS        float64    `json:"epoch_s"`
	EvalS         float64    `json:"eval_s"`
	ReduceS       float64    `json:"reduce_s"`
	DeviceSeconds phaseTimes `json:"device_s"`
	// PartSeconds is DeviceSeconds by part; left out of runs with one part or more than maxPartsInMetrics.
	PartSeconds []phaseTimes `json:"part_s,omitempty"`
	Bytes       epochBytes   `json:"bytes"`
	SpMM        int64        `json:"spmm"`  // stored entries × columns aggregated
	CPUS        float64      `json:"cpu_s"` // of the whole process, or of all ranks
	*metricsHalo
	Pairs []RankTraffic `json:"pairs,omitempty"` // left out where there is one process
	// Meters is what was taken since meters were read before; left out of epochs behind which they were not.
	Meters []gpu.Metered `json:"meters,omitempty"`
	// Isolated is what isolated parts held; left out of other runs.
	Isolated *superEpoch `json:"isolated,omitempty"`
}

// rates are what the optimiser's steps of an epoch went by.
type rates struct {
	LR       *float64   `json:"lr,omitempty"`        // left out of runs without a schedule
	GradNorm *lossValue `json:"grad_norm,omitempty"` // before clipping, mean over steps; left out of runs that do not clip
}

// epochBytes is all traffic of an epoch, and what of it renewed cached rows, and what was gradients and weights.
type epochBytes struct {
	routeBytes
	Refresh   gpu.Bytes `json:"refresh"`
	Gradients gpu.Bytes `json:"gradients,omitempty"` // left out where there are none
	Carried   gpu.Bytes `json:"carried,omitempty"`   // with HopGNN's models: sums of gradients that they bring along
	// Of sampled training: rows of features that parts have fetched from each other, and the ids by which they ask for them.
	Rows gpu.Bytes `json:"rows,omitempty"`
	IDs  gpu.Bytes `json:"ids,omitempty"`
}

// metricsHalo is there where parts exchange rows.
type metricsHalo struct {
	Halo      haloBytes `json:"halo"`
	Cache     cacheUse  `json:"cache"`
	Staleness staleUse  `json:"staleness"`
}

// maxPartsInMetrics bounds a line of metrics to about ten times what it has without parts.
const maxPartsInMetrics = 32

// metricsScores is there in epochs that evaluated; null = the split is empty.
type metricsScores struct {
	Train     *float64   `json:"train"`
	Val       *float64   `json:"val"`
	Test      *float64   `json:"test"`
	ValLoss   *lossValue `json:"val_loss"` // after the update; null also where it is not finite
	Estimated bool       `json:"estimated,omitempty"`
}

// phaseTimes is the time of the devices' queues by phase, in seconds.
type phaseTimes struct {
	Aggregation float64 `json:"aggregation"`
	MM          float64 `json:"mm"`
	Wait        float64 `json:"communication_wait"`
	Transfer    float64 `json:"communication_transfer"`
	Reduce      float64 `json:"reduce"`
	Check       float64 `json:"check_cache"` // on the host: schedules and versions are looked up
	Pick        float64 `json:"pick_cache"`  // rows that others read are put together
	Other       float64 `json:"other"`
	Gradients   float64 `json:"gradients,omitempty"` // of transfer: gradients and weights; left out by part
}

func phaseTimesOf(u gpu.Usage) phaseTimes {
	s := func(p gpu.Phase) float64 { return u.Time[p].Seconds() }
	return phaseTimes{
		Aggregation: s(gpu.PhaseAggregation), MM: s(gpu.PhaseMM), Wait: s(gpu.PhaseWait),
		Transfer: s(gpu.PhaseTransfer), Reduce: s(gpu.PhaseReduce), Pick: s(gpu.PhasePick), Other: s(gpu.PhaseOther),
	}
}

// routeBytes is traffic by route, as the copy routines counted it. Host is traffic between host memories, which only a
// cache in host memory causes.
type routeBytes struct {
	D2H  gpu.Bytes `json:"d2h"`
	H2D  gpu.Bytes `json:"h2d"`
	Peer gpu.Bytes `json:"peer"`
	Host gpu.Bytes `json:"host"`
}

// moved is all bytes of a usage.
func moved(u gpu.Usage) gpu.Bytes { return u.D2H + u.H2D + u.Peer }

func routeBytesOf(u gpu.Usage) routeBytes { return routeBytes{D2H: u.D2H, H2D: u.H2D, Peer: u.Peer} }

// line returns the line of one epoch.
func (m *Metrics) line(s pipeline.EpochStats) metricsLine {
	line := metricsLine{
		Epoch: s.Epoch, Loss: lossValue(s.Loss), rates: rates{s.Rate, (*lossValue)(s.GradNorm)}, EpochS: s.Train.Seconds(), EvalS: s.EvalT.Seconds(), ReduceS: s.Reduce.Seconds(),
		DeviceSeconds: phaseTimesOf(s.Usage), Bytes: epochBytes{routeBytes: routeBytesOf(s.Usage), Refresh: s.Halo.Bytes.Refresh, Gradients: moved(s.Gradients)}, SpMM: s.Usage.SpMM,
		Pairs: trafficOf(s.Pairs), CPUS: s.CPU.Seconds(), Meters: metersOf(s.Meters), Isolated: superEpochOf(s.Isolated),
	}
	line.DeviceSeconds.Gradients = s.Gradients.Time[gpu.PhaseTransfer].Seconds()
	for _, t := range s.CheckParts {
		line.DeviceSeconds.Check += t.Seconds()
	}
	if s.Halo.Lookups > 0 {
		line.metricsHalo = m.halo(s)
	}
	if s.Eval {
		line.metricsScores = &metricsScores{s.Metrics.Train, s.Metrics.Val, s.Metrics.Test, (*lossValue)(s.Metrics.ValLoss), s.Metrics.Estimated}
	}
	if n := len(s.Parts); n > 1 && n <= maxPartsInMetrics {
		for p, u := range s.Parts {
			times := phaseTimesOf(u)
			if p < len(s.CheckParts) {
				times.Check = s.CheckParts[p].Seconds()
			}
			line.PartSeconds = append(line.PartSeconds, times)
		}
	}
	return line
}

// halo returns what the line says of halo rows.
func (m *Metrics) halo(s pipeline.EpochStats) *metricsHalo {
	b := s.Halo.Bytes
	return &metricsHalo{Halo: haloBytes{D2H: b.D2H, H2D: b.H2D, Peer: b.Peer}, Cache: cacheUseOf(m.Policy, s.Halo),
		Staleness: staleUse{Bound: m.Staleness, MaxSeen: s.Halo.AgeMax, Mean: s.Halo.MeanAge(), Period: m.Period}}
}

// lossValue is a loss as it stands in files: nine significant digits, which identify a float32; null where it is not
// finite.
type lossValue float64

// MarshalJSON returns the number as printf's %.9g would, or null.
func (l lossValue) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(l)) || math.IsInf(float64(l), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(l), 'g', 9, 64), nil
}

// UnmarshalJSON reads a number; null is NaN.
func (l *lossValue) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*l = lossValue(math.NaN())
		return nil
	}
	x, err := strconv.ParseFloat(string(data), 64)
	*l = lossValue(x)
	return err
}

// Append writes the line of one epoch. Before the first one, lines of this epoch and later ones, left by a run that was
// stopped after its last checkpoint, are cut off.
func (m *Metrics) Append(s pipeline.EpochStats) error {
	return m.append(s.Epoch, m.line(s))
}

func (m *Metrics) append(epoch int, line any) error {
	if err := m.open(epoch); err != nil {
		return err
	}
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("format metrics of epoch %d: %w", epoch, err)
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
