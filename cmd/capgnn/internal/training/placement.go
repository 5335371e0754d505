package training

import (
	"slices"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/pipeline"
)

// placement says where the parts of a run over several ranks lie. Specs are the devices of all ranks, one behind the other.
type placement struct {
	began   string         // the devices that the settings named before: of the run that is resumed
	ranges  cluster.Ranges // of parts, by rank
	devices []int          // of Specs, by part
	first   []int          // of Specs, by rank: its first device; and behind the last rank
	models  []string       // hardware, by device
}

// newPlacement places parts on devices, of which it is given how many each rank has. The parts of a rank take turns on its devices.
func newPlacement(parts int, counts []int) (*placement, error) {
	per, err := cluster.Spread(parts, counts)
	if err != nil {
		return nil, err
	}
	p := &placement{first: []int{0}}
	if p.ranges, err = cluster.RangesOf(per); err != nil {
		return nil, err
	}
	for rank, n := range per {
		for k := range n {
			p.devices = append(p.devices, p.first[rank]+k%min(n, counts[rank]))
		}
		p.first = append(p.first, p.first[rank]+min(n, counts[rank]))
	}
	return p, nil
}

// ownParts are the parts of this process, of those that train at a time.
func (t *Run) ownParts() graph.Range {
	if t.place == nil {
		return graph.Range{Lo: 0, Hi: t.Workers()}
	}
	lo, hi := t.place.ranges.Of(t.Ranks.Rank())
	return graph.Range{Lo: lo, Hi: hi}
}

// partsByHost returns how many parts lie on each machine, where neighbouring ranks are on one; nil: all are of this process.
func (t *Run) partsByHost() (parts []int) {
	if t.place == nil {
		return nil
	}
	hosts := t.Ranks.Hosts()
	for rank, h := range hosts {
		lo, hi := t.place.ranges.Of(rank)
		if rank == 0 || h != hosts[rank-1] {
			parts = append(parts, 0)
		}
		parts[len(parts)-1] += hi - lo
	}
	return parts
}

// firstDevice is the first of Specs that is of this process.
func (t *Run) firstDevice() int {
	if t.place == nil {
		return 0
	}
	return t.place.first[t.Ranks.Rank()]
}

// ownSpecs are those of Specs that are of this process.
func (t *Run) ownSpecs() []devices.Spec {
	if t.place == nil {
		return t.Specs
	}
	rank := t.Ranks.Rank()
	return t.Specs[t.place.first[rank]:t.place.first[rank+1]]
}

// openOwn opens the devices of this process.
func (t *Run) openOwn() ([]gpu.Device, error) {
	if t.Ranks == nil {
		return devices.Open(t.Specs)
	}
	_, here := t.Ranks.Local()
	return devices.OpenBeside(t.ownSpecs(), here)
}

// here makes options those of a trainer of the parts of this process, on devices that stand for its own.
func (t *Run) here(opt *pipeline.Options, own []gpu.Device) {
	parts := t.ownParts()
	for p := parts.Lo; p < parts.Hi && own != nil; p++ {
		opt.Devices = append(opt.Devices, own[t.deviceOf(p)-t.firstDevice()])
	}
	if t.Ranks == nil {
		return
	}
	opt.First, opt.Parts, opt.Ranks = parts.Lo, t.Workers(), t.Ranks
	if l := &opt.Cache.Links; len(l.H2D) > 0 {
		l.H2D, l.D2H = l.H2D[parts.Lo:parts.Hi], l.D2H[parts.Lo:parts.Hi]
	}
}

// onWorkers returns the device of each worker of this process.
func (t *Run) onWorkers() []gpu.Device {
	var opt pipeline.Options
	t.here(&opt, t.Devices)
	return opt.Devices
}

// alike reports whether all devices would be equally fast, so that no measurement is needed to divide the work. Those of several machines
// are the same hardware then.
func (t *Run) alike() bool {
	if t.place == nil {
		return devices.Alike(t.Specs)
	}
	specs := slices.Clone(t.Specs)
	for i := range specs {
		specs[i].Label = "" // a number of another machine says nothing here
	}
	return devices.Alike(specs) && len(slices.Compact(slices.Clone(t.place.models))) == 1
}
