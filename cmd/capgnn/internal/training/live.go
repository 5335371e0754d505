package training

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/timeline"
	"capgnn/internal/atomicfile"
	"capgnn/internal/number"
	"capgnn/jaca"
	"capgnn/minibatch"
	"capgnn/pipeline"
)

// Live is what a run shows and measures while it trains: the bar of its epochs over the table of devices, the epoch
// that is traced, and what devices consume.
type Live struct {
	Trace  *int            // the epoch of which a trace is written; nil: none
	traced bool            // it has been trained
	meters *devices.Meters // of this process, nil: none
	start  time.Duration   // from the start of the program to the first epoch
	bar    *term.Progress  // of the epochs
	board  *board
	loss   float64 // of the last epoch, once there was one
	epochs int
	val    *float64           // of the last evaluation
	steps  int                // of an epoch of sampled training
	last   minibatch.Progress // of sampled training
	edges  int64              // sampled by the first part in the epochs that are over
	took   time.Duration      // of these epochs, without evaluation
}

// resuming returns what --resume takes behind so many epochs: the folder, and a trace to come, which config.yaml lacks.
func (l *Live) resuming(folder string, done int) string {
	if l.Trace != nil && *l.Trace >= done {
		return fmt.Sprintf("%s --trace %d", folder, *l.Trace)
	}
	return folder
}

// tracing returns what records the epoch that is to be traced and writes the trace into the run folder, nil where none
// is or another rank has the folder. A trace that cannot be made is a note, as the run goes on.
func (l *Live) tracing(t *Forecaster, path string) func(epoch int) (done func()) {
	if l.Trace == nil || !t.Ranks.Leads() {
		return nil
	}
	return func(epoch int) func() {
		if epoch != *l.Trace {
			return func() {}
		}
		r, err := timeline.Begin(t.Devices)
		if err != nil {
			t.Console.Note("note: no trace: %s", term.OneLine(err))
			return func() {}
		}
		return func() {
			line := r.End()
			l.traced = true
			err := atomicfile.Write(path, func(w io.Writer) error { return line.Write(w, fmt.Sprintf("epoch %d", epoch)) })
			switch {
			case err != nil:
				t.Console.Note("note: no trace: %s", term.OneLine(err))
			case line.Kept < line.Duration:
				t.Console.Note("the trace has the first %d operations of epoch %d", timeline.MaxSpans, epoch)
			}
		}
	}
}

// openMeters opens the meters of the run's devices and of this machine. Of ranks of one machine the first has those of
// its processors, and of ranks that share a GPU the first has its. Simulated devices have none.
func (l *Live) openMeters(ctx context.Context, w *Where, k *term.Console) error {
	if w.Specs[0].Simulated() {
		return nil
	}
	powercap := devices.Powercap
	if local, _ := w.Ranks.Local(); local > 0 {
		powercap = ""
	}
	l.meters = devices.OpenMeters(w.ownSpecs(), powercap, k.Note)
	ids, err := ranks.All(ctx, w.Ranks, l.meters.IDs())
	if err == nil && w.Ranks != nil {
		l.meters.Share(w.Ranks.Rank(), ids[:w.Ranks.Rank()])
	}
	return err
}

// readMeters returns what devices have taken since it was called before. Behind the last epoch they are read whatever
// that takes.
func (l *Live) readMeters(epochs int) func(epoch int) []gpu.Metered {
	return func(epoch int) []gpu.Metered { return l.meters.Read(epoch == epochs-1) }
}

// epoch shows an epoch that is over, at detail of the bar's counts: what parts did in it the board has.
func (l *Live) epoch(loss float64, eval bool, val *float64, at int64, detail func() string) {
	if l.loss, l.epochs = loss, l.epochs+1; eval {
		l.val = val
	}
	l.bar.Table = l.board.lines(time.Now())
	l.bar.At(at, detail())
}

// scores says what is known of the last epoch.
func (l *Live) scores() (text string) {
	if l.epochs > 0 {
		text = "  loss " + number.Plain.Text(l.loss)
	}
	if l.val != nil {
		text += "  val " + term.Score(l.val)
	}
	return text
}

// shows shows an epoch.
func (l *Live) shows(t *Forecaster, s *pipeline.EpochStats) {
	if t.Config.Sampled() {
		l.sampledEpoch(t, s)
	} else {
		l.heldEpoch(s)
	}
}

// heldEpoch shows an epoch of full-batch training.
func (l *Live) heldEpoch(s *pipeline.EpochStats) {
	l.board.add(s.Train, s.Parts, s.HaloParts)
	l.epoch(s.Loss, s.Eval, s.Metrics.Val, int64(s.Epoch+1), func() string {
		wall := s.Train.Seconds()
		return strings.TrimSpace(l.scores()) + "  " + term.Duration(&wall)
	})
}

// sampledEpoch shows an epoch of sampled training.
func (l *Live) sampledEpoch(t *Forecaster, s *minibatch.EpochStats) {
	l.board.addSampled(s)
	l.last = minibatch.Progress{Epoch: s.Epoch, Step: l.steps}
	l.edges, l.took = l.edges+s.Edges/int64(t.Workers()), l.took+s.Train
	at := int64(s.Epoch+1) * int64(l.steps)
	l.epoch(s.Loss, s.Eval, s.Metrics.Val, at, func() string { return l.detail(t, l.last) })
}

// step shows a step.
func (l *Live) step(t *Forecaster, p minibatch.Progress) {
	l.last = p
	l.bar.At(int64(p.Epoch)*int64(l.steps)+int64(p.Step), l.detail(t, p))
}

// detail is what the bar says behind a step.
func (l *Live) detail(t *Forecaster, p minibatch.Progress) string {
	text := fmt.Sprintf("epoch %d/%d", p.Epoch+1, t.Config.Epochs)
	if took := l.took + p.Elapsed; took > 0 {
		text += "  " + runfolder.EdgeRate(float64(l.edges+p.Edges)*float64(t.Workers())/took.Seconds())
	}
	if text += l.scores(); l.val != nil && t.Config.EvalFanout.Value != nil {
		text += " (estimated)"
	}
	return text
}

// reached says where a run stands that was interrupted behind so many epochs.
func (l *Live) reached(done, of int) string {
	if l.last.Step == 0 || l.last.Epoch < done {
		return fmt.Sprintf("after epoch %d of %d", done, of)
	}
	return fmt.Sprintf("in epoch %d of %d, after step %d of %d", l.last.Epoch+1, of, l.last.Step, l.steps)
}

// board is the live table of the devices of a run: what each did in the epochs since the last picture.
type board struct {
	run    *Forecaster
	rows   []boardRow
	epochs int
	took   time.Duration // of these epochs
	drawn  time.Time     // when text was made
	text   []string
}

// boardRow is what a device did, summed over its parts and some epochs.
type boardRow struct {
	parts int
	usage gpu.Usage
	halo  jaca.Stats
	rows  minibatch.Rows // of sampled training
}

// boardPause is the shortest time between two tables: digits that change faster cannot be read.
const boardPause = 500 * time.Millisecond

// newBoard returns a table without an epoch.
func newBoard(t *Forecaster) *board { return &board{run: t, rows: make([]boardRow, len(t.Specs))} }

// add counts an epoch: what it took, and what parts did in it.
func (b *board) add(took time.Duration, parts []gpu.Usage, halo []jaca.Stats) {
	b.epochs++
	b.took += took
	for i := range b.rows {
		b.rows[i].parts = 0
	}
	for p, u := range parts {
		r := &b.rows[b.run.deviceOf(p)]
		r.parts++
		r.usage = r.usage.Add(u)
		if p < len(halo) {
			r.halo.Add(halo[p])
		}
	}
}

// addSampled counts an epoch of sampled training.
func (b *board) addSampled(s *minibatch.EpochStats) {
	b.add(s.Train, s.Parts, nil)
	for p := range s.Work {
		rows, more := &b.rows[b.run.deviceOf(p)].rows, &s.Work[p].Rows
		rows.Hit, rows.Fetched = rows.Hit+more.Hit, rows.Fetched+more.Fetched
	}
}

// lines returns the table, which is a new one if the last was made long enough ago. Without a terminal there is none.
func (b *board) lines(now time.Time) []string {
	if k := b.run.Console; !k.Terminal || k.Quiet || b.epochs == 0 || now.Sub(b.drawn) < boardPause {
		return b.text
	}
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "busy\twaiting\tcopies\tmemory\thits\t  device")
	for i := range b.rows {
		r := &b.rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t  %s\n", b.share(r, busyTime(r.usage)), b.share(r, r.usage.Time[gpu.PhaseWait]),
			b.rate(r.usage), b.memory(i), r.hits(), b.run.Specs[i])
		*r = boardRow{}
	}
	_ = t.Flush() // into a string
	b.text, b.drawn, b.epochs, b.took = strings.Split(strings.TrimRight(out.String(), "\n"), "\n"), now, 0, 0
	return b.text
}

// busyTime is what computing took.
func busyTime(u gpu.Usage) time.Duration {
	t := &u.Time
	return t[gpu.PhaseAggregation] + t[gpu.PhaseMM] + t[gpu.PhaseReduce] + t[gpu.PhasePick] + t[gpu.PhaseOther]
}

// share returns a time as a share of the epochs, mean over the device's parts.
func (b *board) share(r *boardRow, x time.Duration) string {
	whole := float64(b.took) * float64(r.parts)
	if whole == 0 {
		return "-"
	}
	return term.Percentage(float64(x) / whole)
}

// rate returns the bytes that the device's queues copied, per second of the epochs.
func (b *board) rate(u gpu.Usage) string {
	if b.took == 0 {
		return "-"
	}
	return term.Size(gpu.Bytes(float64(u.D2H+u.H2D+u.Peer)/b.took.Seconds())) + "/s"
}

// memory returns what is in use on a device, and of how much.
func (b *board) memory(device int) string {
	device -= b.run.firstDevice()
	if device < 0 || device >= len(b.run.Devices) {
		return "-" // of another rank
	}
	d := b.run.Devices[device]
	text := term.Size(d.Memory().Used)
	if budget := d.Info().Budget; budget > 0 {
		text += " of " + term.Size(budget)
	}
	return text
}

// hits returns the share of lookups that found a row in a cache.
func (r *boardRow) hits() string {
	switch {
	case r.rows.Hit > 0:
		return term.Percentage(float64(r.rows.Hit) / float64(r.rows.Hit+r.rows.Fetched))
	case r.halo.Lookups > 0:
		return term.Percentage(r.halo.HitRate())
	}
	return "-"
}
