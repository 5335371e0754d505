package training

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/jaca"
	"capgnn/profiler"
)

const (
	// linkStep is the grid on which rates of links count: whole powers below the fastest (docs/determinism.md).
	linkStep = 1.05
	// LinksEqual says that all links are as fast.
	LinksEqual = "equal"
)

// link is the seconds that a byte takes to a device and from it.
type link struct{ h2d, d2h float64 }

// SettleCache settles what caches are decided by and what the settings leave open, and checks what a config file recorded.
func (t *Run) SettleCache(ctx context.Context) error {
	if _, err := runfolder.ParseSlots(t.Config.CacheSlots, t.Parts); err != nil {
		return term.Usagef("config: cache-slots: %w", err)
	}
	if _, err := parseLinks(t.Config.CacheLinks, t.Parts, len(t.Specs)); err != nil {
		return term.Usagef("config: cache-links: %w", err)
	}
	if t.Parts == 1 {
		return nil
	}
	if t.Config.Pipeline == runfolder.PipelineAuto && !t.Config.Pipelined() {
		t.Console.Note("note: pipeline off: --cache %s decides while rows are read", t.Config.Cache)
	}
	if t.Config.CacheLinks != "" || jaca.Policy(t.Config.Cache) != jaca.JACA {
		return nil
	}
	profile, err := t.Profile, error(nil)
	if profile == nil && !t.linksKnown() {
		if profile, err = devices.Profile(ctx, t.Console, t.Specs, t.Config.Profile); err != nil {
			return err
		}
	}
	t.Config.CacheLinks, err = t.links(profile)
	return err
}

// linksKnown reports whether the devices' links need no measurement: they are alike, simulated, or said.
func (t *Run) linksKnown() bool {
	if devices.Alike(t.Specs) {
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
// one hardware count as equal. A link's latency is left out: caches make copies smaller, not fewer. nil: no profile.
func (t *Run) links(profile *profiler.Profile) (string, error) {
	var all []link
	for i, d := range t.Specs {
		switch {
		case d.Simulated():
			c, err := d.SimCard()
			if err != nil {
				return "", err
			}
			r := d.Rates(&c)
			all = append(all, link{1 / r.H2D, 1 / r.D2H})
		case d.Link > 0:
			all = append(all, link{1 / d.Link, 1 / d.Link})
		case profile != nil:
			all = append(all, profiledLink(profile, i))
		default:
			return LinksEqual, nil
		}
	}
	return formatLinks(all), nil
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

// formatLinks returns for each device how much longer a byte takes to it and from it than on the fastest link of all.
func formatLinks(all []link) string {
	least := math.Inf(1)
	for _, l := range all {
		least = min(least, l.h2d, l.d2h)
	}
	step := func(x float64) float64 { return math.Pow(linkStep, math.Round(math.Log(x/least)/math.Log(linkStep))) }
	items, equal := make([]string, len(all)), true
	for i, l := range all {
		to, from := step(l.h2d), step(l.d2h)
		equal = equal && to == 1 && from == 1
		items[i] = fmt.Sprintf("%.4g:%.4g", to, from)
	}
	if equal {
		return LinksEqual
	}
	return strings.Join(items, ",")
}

// parseLinks reads the text of formatLinks for parts, part p lying on device p mod devices.
func parseLinks(text string, parts, devices int) (jaca.Links, error) {
	if text == "" || text == LinksEqual {
		return jaca.Links{}, nil
	}
	items := strings.Split(text, ",")
	if len(items) != devices {
		return jaca.Links{}, fmt.Errorf("%d links of %d devices", len(items), devices)
	}
	var l jaca.Links
	for p := range parts {
		var x [2]float64
		to, from, _ := strings.Cut(items[p%devices], ":")
		for i, s := range []string{to, from} {
			var err error
			if x[i], err = strconv.ParseFloat(s, 64); err != nil || !(x[i] >= 1 && x[i] <= math.MaxFloat32) {
				return jaca.Links{}, fmt.Errorf("%q is not how much longer a byte takes to a device and from it, such as 1:2.5", items[p%devices])
			}
		}
		l.H2D, l.D2H = append(l.H2D, x[0]), append(l.D2H, x[1])
	}
	return l, nil
}
