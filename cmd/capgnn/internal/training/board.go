package training

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/jaca"
	"capgnn/minibatch"
)

// board is the live table of the devices of a run: what each did in the epochs since the last picture.
type board struct {
	run    *Run
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
func newBoard(t *Run) *board { return &board{run: t, rows: make([]boardRow, len(t.Specs))} }

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
	return u.Time[gpu.PhaseAggregation] + u.Time[gpu.PhaseMM] + u.Time[gpu.PhaseReduce] + u.Time[gpu.PhasePick] + u.Time[gpu.PhaseOther]
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
