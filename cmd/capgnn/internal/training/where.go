package training

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/profiler"
)

// Where is what computes a run: the processes, their devices, and which of these each part lies on.
type Where struct {
	Ranks   *ranks.Members // the processes that train together; nil: this one alone
	Own     Own            // with Ranks: what is said for this one
	Specs   []devices.Spec // of all ranks, one behind the other
	Devices []gpu.Device   // of this process, once they are open
	// Free asks for the memory of the host; nil: hostmem.Free.
	Free   func() (free, total int64, err error)
	placed *placement // of parts on devices of several ranks; nil: all are of this process
}

// Own is what may be said for one rank, whatever is said for the others: where things lie on its machine, and what
// computes there.
type Own struct{ Dataset, Devices, Profile string }

// placement says where the parts of a run over several ranks lie.
type placement struct {
	began   string         // the devices that the settings named before: of the run that is resumed
	ranges  cluster.Ranges // of parts, by rank
	devices []int          // of Specs, by part
	first   []int          // of Specs, by rank: its first device; and behind the last rank
	models  []string       // hardware, by device
}

// newPlacement places parts on devices, of which it is given how many each rank has. The parts of a rank take turns on
// its devices.
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

// deviceOf returns on which of Specs a part lies: they take turns, those of several ranks each among its own parts. Of
// parts that train in phases it is that of a worker.
func (w *Where) deviceOf(part int) int {
	if w.placed != nil {
		return w.placed.devices[part]
	}
	return part % len(w.Specs)
}

// began names the devices that a run began with that others continue; "": they are the same.
func (w *Where) began(resumed bool) string {
	if !resumed || w.placed == nil {
		return ""
	}
	return w.placed.began
}

// partsByRank returns how many parts each rank has.
func (w *Where) partsByRank() (parts []int) {
	for rank := range len(w.placed.first) - 1 {
		lo, hi := w.placed.ranges.Of(rank)
		parts = append(parts, hi-lo)
	}
	return parts
}

// partsByHost returns how many parts lie on each machine, where neighbouring ranks are on one; nil: all are of this
// process.
func (w *Where) partsByHost() (parts []int) {
	if w.placed == nil {
		return nil
	}
	hosts := w.Ranks.Hosts()
	for rank, n := range w.partsByRank() {
		if rank == 0 || hosts[rank] != hosts[rank-1] {
			parts = append(parts, 0)
		}
		parts[len(parts)-1] += n
	}
	return parts
}

// firstDevice is the first of Specs that is of this process.
func (w *Where) firstDevice() int {
	if w.placed == nil {
		return 0
	}
	return w.placed.first[w.Ranks.Rank()]
}

// ownSpecs are those of Specs that are of this process.
func (w *Where) ownSpecs() []devices.Spec {
	if w.placed == nil {
		return w.Specs
	}
	rank := w.Ranks.Rank()
	return w.Specs[w.placed.first[rank]:w.placed.first[rank+1]]
}

// alike reports whether all devices would be equally fast, so that no measurement is needed to divide the work. Those
// of several machines are the same hardware then.
func (w *Where) alike() bool {
	if w.placed == nil {
		return devices.Alike(w.Specs)
	}
	specs := slices.Clone(w.Specs)
	for i := range specs {
		specs[i].Label = "" // a number of another machine says nothing here
	}
	return devices.Alike(specs) && len(slices.Compact(slices.Clone(w.placed.models))) == 1
}

// giveMore says how much more memory the devices of this process need; lacks is by device. Those of one name have what
// one of them lacks at most, and a little is added, so that rounded numbers are enough.
func (w *Where) giveMore(lacks []gpu.Bytes) string {
	if len(lacks) == 1 {
		return fmt.Sprintf("give it %s more (mem=)", term.Size(withSpare(lacks[0])))
	}
	var names []string
	devices, most := map[string]int{}, map[string]gpu.Bytes{}
	for i, s := range w.ownSpecs() {
		name := s.String()
		if devices[name]++; devices[name] == 1 {
			names = append(names, name)
		}
		most[name] = max(most[name], withSpare(lacks[i]))
	}
	names = slices.DeleteFunc(names, func(name string) bool { return most[name] == 0 })
	if len(names) == len(most) {
		return fmt.Sprintf("give each device %s more (mem=)", term.Size(slices.Max(slices.Collect(maps.Values(most)))))
	}
	for i, name := range names {
		names[i] += " " + term.Size(most[name])
		if devices[name] > 1 {
			names[i] = "each " + names[i]
		}
	}
	return fmt.Sprintf("give %s more (mem=)", strings.Join(names, " and "))
}

// withSpare adds a little to what a device lacks.
func withSpare(lack gpu.Bytes) gpu.Bytes { return lack + lack/16 }

// linkStep is the grid on which rates of links count: whole powers below the fastest (docs/determinism.md).
const linkStep = 1.05

// link is the seconds that a byte takes to a device and from it.
type link struct{ h2d, d2h float64 }

// linksKnown reports whether the devices' links need no measurement: they are alike, simulated, or said.
func (w *Where) linksKnown() bool {
	return w.alike() || !slices.ContainsFunc(w.Specs, func(d devices.Spec) bool { return !d.Simulated() && d.Link == 0 })
}

// links returns how fast the devices' links are beside each other: what their specs and cards say, else the profile.
// Devices of one hardware count as equal. A link's latency is left out: caches make copies smaller, not fewer. No
// profile: nil. No links: all count as equal.
func (w *Where) links(profile *profiler.Profile) ([]runfolder.Link, error) {
	var all []link
	for i, d := range w.Specs {
		switch {
		case d.Simulated():
			c, err := d.SimCard()
			if err != nil {
				return nil, err
			}
			r := d.Rates(&c)
			all = append(all, link{1 / r.H2D, 1 / r.D2H})
		case d.Link > 0:
			all = append(all, link{1 / d.Link, 1 / d.Link})
		case profile != nil:
			all = append(all, profiledLink(profile, i))
		default:
			return nil, nil
		}
	}
	return beside(all), nil
}

// profiledLink returns the mean over the devices of a profile that are the same hardware as device i.
func profiledLink(p *profiler.Profile, i int) link {
	var sum link
	n := 0.0
	for k := range p.Devices {
		if p.Devices[k].UUID == p.Devices[i].UUID {
			m := devices.MeasuredOf(p, k)
			r := m.Rates()
			sum.h2d, sum.d2h, n = sum.h2d+1/r.H2D, sum.d2h+1/r.D2H, n+1
		}
	}
	return link{sum.h2d / n, sum.d2h / n}
}

// beside returns how much longer a byte takes to each device and from it than on the fastest link of all, on a grid,
// with the four digits that are recorded. nil: all are as fast.
func beside(all []link) []runfolder.Link {
	least := math.Inf(1)
	for _, l := range all {
		least = min(least, l.h2d, l.d2h)
	}
	step := func(x float64) float64 {
		x = math.Pow(linkStep, math.Round(math.Log(x/least)/math.Log(linkStep)))
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', runfolder.LinkDigits, 64), 64) // reads what it wrote
		return x
	}
	out, equal := make([]runfolder.Link, len(all)), true
	for i, l := range all {
		out[i] = runfolder.Link{To: step(l.h2d), From: step(l.d2h)}
		equal = equal && out[i] == runfolder.Link{To: 1, From: 1}
	}
	if equal {
		return nil
	}
	return out
}
