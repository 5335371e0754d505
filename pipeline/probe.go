package pipeline

import (
	"fmt"
	"io"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/meet"
	"capgnn/jaca"
)

// probe compares gradients of weights, where a ladder chooses how old rows may be (jaca.Ladder): of an epoch with stale rows, of the same epoch with fresh
// ones, which it steps with, and of the epoch before. Each part's share comes to the host, where shares are added in part order. All of it is memory of the
// first part's ledger, but for the shares.
type probe struct {
	shares               [][]float32 // by worker; nil elements: devices keep accounts only
	stale, fresh, before []float32   // sums
	bytes                gpu.Bytes   // of all
}

// newProbe takes the memory of a run whose staleness adapts; of others nil.
func (t placer) newProbe() (*probe, error) {
	if !t.halo.Ladder() {
		return nil, nil
	}
	n, p := len(t.weights.Flat), new(probe)
	take := func(w *worker, what string) []float32 {
		size := 4 * gpu.Bytes(n)
		p.bytes += size
		return hostmem.Of[float32](w.ep.Memory.Pin(what, size))
	}
	for _, w := range t.workers {
		p.shares = append(p.shares, take(w, "share of gradients"))
	}
	w := t.workers[0]
	p.stale, p.fresh, p.before = take(w, "gradients with stale rows"), take(w, "gradients"), take(w, "gradients of the epoch before")
	for _, w := range t.workers {
		if w.ld.err != nil {
			return nil, w.ld.err
		}
	}
	return p, nil
}

// keeps reports whether an epoch's gradients are compared, with those of its own or of the next epoch.
func (t *Trainer) keeps(epoch int) bool { return t.halo.Probes(epoch) || t.halo.Probes(epoch+1) }

// download enqueues the copy of a worker's share.
func (p *probe) download(w *worker, at int) {
	w.compute.Download(hostmem.Bytes(p.shares[at]), w.grads.Flat.Buf, 4*gpu.Bytes(w.grads.Flat.Off))
}

// sum adds the shares up in part order.
func (p *probe) sum(into []float32) {
	for i := range into {
		total := 0.0
		for _, s := range p.shares {
			total += float64(s[i])
		}
		into[i] = float32(total)
	}
}

// probeStale computes an epoch's gradients with the rows that its schedule gives. All rows are due behind it.
func (t *Trainer) probeStale(epoch int) error {
	t.hub.Epoch = epoch
	t.halo.BeginProbe()
	err := t.each(func(w *worker) error {
		if t.o.Savings.NoReuse {
			if err := w.renew(); err != nil {
				return err
			}
		}
		err := meet.Guard(func() {
			w.runTrain(epoch, t.p, 1/t.terms, nil)
			t.probe.download(w, t.at(w))
		})
		if err != nil {
			return err
		}
		return w.finish()
	})
	t.halo.EndProbe(epoch)
	if err == nil {
		t.probe.sum(t.probe.stale)
	}
	return err
}

// probeSection is the section of a checkpoint with the gradients of the last epoch, float32 as the weights are.
const probeSection = "probe/before"

// save adds the gradients of an epoch to a checkpoint, if the next one compares its own with them.
func (p *probe) save(c *checkpoint.File) {
	if c.Sections == nil {
		c.Sections = map[string]checkpoint.Section{}
	}
	c.Sections[probeSection] = section.Floats(p.before)
}

// load is the inverse of save.
func (p *probe) load(c *checkpoint.File) error {
	s := c.Sections[probeSection]
	if got, want := checkpoint.Size(s), 4*int64(len(p.before)); got != want {
		return fmt.Errorf("%s has %d bytes, not %d", probeSection, got, want)
	}
	_, err := io.ReadFull(s, hostmem.Bytes(p.before))
	return err
}

// climb ends an epoch: it puts the schedules of the next one into force, and notes how old rows may be where that adapts.
func (t *Trainer) climb(e *EpochStats, probed bool) {
	if t.probe == nil {
		t.halo.EndEpoch(e.Epoch, e.Loss, nil)
		return
	}
	e.Rung = &Rung{Period: t.halo.Period()}
	if t.keeps(e.Epoch) {
		e.Rung.Harms = t.probe.compare(t.weights, probed)
	}
	t.halo.EndEpoch(e.Epoch, e.Loss, e.Rung.Harms)
	e.Rung.Next = t.halo.Period()
}

// compare takes the gradients of an epoch, and returns what its probe says, by layer; nil: it had none.
func (p *probe) compare(weights *gnn.Weights, probed bool) (harms []jaca.Harm) {
	p.sum(p.fresh)
	if probed {
		for layer, ranges := range weights.Layers() {
			if len(ranges) == 0 { // it has no weights that old rows could harm
				continue
			}
			var sums jaca.HarmSums
			for _, r := range ranges {
				sums.Add(p.stale[r.Lo:r.Hi], p.fresh[r.Lo:r.Hi], p.before[r.Lo:r.Hi])
			}
			harms = append(harms, sums.Of(layer))
		}
	}
	p.before, p.fresh = p.fresh, p.before
	return harms
}
