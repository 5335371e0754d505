package training

import (
	"context"
	"math"
	"slices"
	"strconv"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/jaca"
	"capgnn/profiler"
)

// linkStep is the grid on which rates of links count: whole powers below the fastest (docs/determinism.md).
const linkStep = 1.05

// link is the seconds that a byte takes to a device and from it.
type link struct{ h2d, d2h float64 }

// SettleCache settles what caches are decided by and what the settings leave open, and checks what a config file recorded.
func (t *Run) SettleCache(ctx context.Context) error {
	if n := len(t.Config.CacheSlots.Value); n > 0 && n != t.Parts+1 {
		return term.Usagef("config: cache-slots: %d numbers for the caches of %d parts and of the host", n, t.Parts)
	}
	if n := len(t.Config.CacheLinks.Value); n > 0 && n != len(t.Specs) && t.place == nil {
		return term.Usagef("config: cache-links: %d links of %d devices", n, len(t.Specs))
	}
	if t.Parts == 1 || t.Config.Isolated.Value != nil {
		return nil
	}
	if t.Config.CacheLinks.String() != "" || jaca.Policy(t.Config.Cache) != jaca.JACA {
		return nil
	}
	profile, err := t.Profile, error(nil)
	if profile == nil && !t.linksKnown() {
		if profile, err = devices.Profile(ctx, t.Console, t.Specs, t.Config.Profile); err != nil {
			return err
		}
	}
	links, err := t.links(profile)
	if err == nil {
		t.Config.Set("cache-links", runfolder.FormatLinks(links))
	}
	return err
}

// linksKnown reports whether the devices' links need no measurement: they are alike, simulated, or said.
func (t *Run) linksKnown() bool {
	if t.alike() {
		return true
	}
	for _, d := range t.Specs {
		if !d.Simulated() && d.Link == 0 {
			return false
		}
	}
	return true
}

// links returns how fast the devices' links are beside each other: what their specs and cards say, else the profile. Devices of
// one hardware count as equal. A link's latency is left out: caches make copies smaller, not fewer. No profile: nil. No links: all count
// as equal.
func (t *Run) links(profile *profiler.Profile) ([]runfolder.Link, error) {
	var all []link
	for i, d := range t.Specs {
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

// beside returns how much longer a byte takes to each device and from it than on the fastest link of all, on a grid, with the four
// digits that are recorded. nil: all are as fast.
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
	out := make([]runfolder.Link, len(all))
	for i, l := range all {
		out[i] = runfolder.Link{To: step(l.h2d), From: step(l.d2h)}
	}
	if !slices.ContainsFunc(out, func(l runfolder.Link) bool { return l != runfolder.Link{To: 1, From: 1} }) {
		return nil
	}
	return out
}

// partLinks returns the links of parts by those of devices; without these all are as fast.
func (t *Run) partLinks(of []runfolder.Link) (l jaca.Links) {
	for p := range t.Parts {
		if len(of) > 0 {
			d := of[p%len(of)] // of the devices with which a run began that others continue
			if len(of) == len(t.Specs) {
				d = of[t.deviceOf(p)]
			}
			l.H2D, l.D2H = append(l.H2D, d.To), append(l.D2H, d.From)
		}
	}
	return l
}
