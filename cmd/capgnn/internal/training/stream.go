package training

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/internal/number"
)

// Streaming is what parts that take turns on a device move between it and the host's memory in an epoch, and what lies
// on the device in a turn. Amounts are in bytes.
type Streaming struct {
	Parts  int       `json:"parts"` // of the device
	Up     gpu.Bytes `json:"up"`
	Down   gpu.Bytes `json:"down"`
	Window gpu.Bytes `json:"window"`
}

// mostTurns bounds the parts of a device that are tried.
const mostTurns = 64

// stream has parts take turns where the settings ask for it, or where the run that m is of does not fit: it returns the
// plan of that, or m. Who has not said how many parts there are gets as many as fit.
func (t *Planner) stream(ctx context.Context, m *MemoryPlan) (*MemoryPlan, error) {
	on := t.Config.Stream == runfolder.SwitchOn
	switch why := t.heldFor(); {
	case t.Config.Stream == runfolder.SwitchOff:
		return m, nil
	case on && why != "":
		return m, t.AsUsage(fmt.Errorf("--stream on: %s", why))
	case !on && (why != "" || m.fits() || !m.Room.Fits()): // what leaves a device goes to the host
		return m, nil
	}
	for _, parts := range t.turnsToTry(m.Devices) {
		o := *t
		if o.streams = true; parts != t.Parts {
			o.Decisions, o.layout, o.Console = t.open(), nil, quiet()
			o.streams, o.Parts, o.Config.Parts, o.Profile = true, parts, parts, t.Profile
			if err := o.Decide(ctx, Divide); err != nil {
				return m, err
			}
			o.streams = false // what is recorded of caches is that of held parts, as which the run may go on
			if err := o.Decide(ctx, SettleCache, SettleAging, Arrange); err != nil {
				return m, err
			}
			if t.layout != nil { // memory is for one of them
				t.layout.Release()
				t.layout = nil
			}
			if err := o.lay(); err != nil {
				return m, err
			}
			o.measureOwn()
			if _, err := o.settleSlots(ctx); err != nil {
				return m, err
			}
			o.streams = true
		}
		streamed, _, err := o.account(ctx, o.ProblemOptions(), false)
		if err != nil {
			return m, err
		}
		if on && !t.partsOpen || streamed.fits() && streamed.Room.Fits() {
			if o.Console = t.Console; parts != t.Parts {
				o.Console.Note("partition: %s", planText(o.Plan))
			}
			o.Console.Note("stream: %s", streamed.turns(m, on))
			*t = o
			for _, d := range m.Devices {
				streamed.Held = append(streamed.Held, d.Peak)
			}
			return streamed, nil
		}
		if o.layout != t.layout {
			o.layout.Release()
		}
	}
	return m, t.lay()
}

// turnsOpen reports whether parts may take turns where devices cannot hold them.
func (t *Forecaster) turnsOpen() bool {
	return t.Config.Stream != runfolder.SwitchOff && t.heldFor() == ""
}

// heldFor says why parts cannot take turns; "": they can.
func (t *Forecaster) heldFor() string {
	c := &t.Config
	switch {
	case t.Ranks != nil:
		return "parts of several ranks are held on their devices: drop --ranks, or --stream"
	case t.Specs[0].Simulated():
		return "parts on simulated devices are held there: drop --stream"
	case c.Staleness > 0 || c.Isolated.Value != nil || c.HaloType.String() != gpu.FP32.String():
		return "not with these settings"
	case !t.partsOpen && t.Parts <= len(t.Specs):
		return fmt.Sprintf("each device has one part, so none gives way to another: give --parts %d or more", 2*len(t.Specs))
	}
	return ""
}

// turnsToTry returns how many parts there may be where devices cannot hold theirs: the least first.
func (t *Forecaster) turnsToTry(held []DeviceMemory) (parts []int) {
	if !t.partsOpen {
		return []int{t.Parts}
	}
	for n := leastTurns(held); n <= mostTurns && n*len(t.Specs) <= t.Data.Problem.Vertices(); n *= 2 {
		parts = append(parts, n*len(t.Specs))
	}
	return parts
}

// leastTurns is by how many parts a device can do that lacks most: a power of two.
func leastTurns(held []DeviceMemory) int {
	most := 2
	for _, d := range held {
		if d.Budget > 0 {
			most = max(most, int(min(mostTurns, (d.Peak+d.Budget-1)/d.Budget)))
		}
	}
	return 1 << bits.Len(uint(most-1))
}

// PredictInTurns has parts of a prediction take turns that devices cannot hold together: as many of them as fit, if
// nobody has said how many. place puts the prediction on devices, held or in turns. false: it fits neither way.
func (t *Run) PredictInTurns(ctx context.Context, place func(on []gpu.Device, stream bool) error) (bool, error) {
	if t.heldFor() != "" {
		return false, nil
	}
	held, err := t.onLedgers(place, false)
	if err != nil {
		return false, err
	}
	was := *t
	for _, parts := range t.turnsToTry(held) {
		if t.streams = true; parts != t.Parts {
			t.Decisions, t.Console = was.Decisions.open(), quiet()
			t.streams, t.Parts, t.Config.Parts = true, parts, parts
			err = t.Decide(ctx, Divide)
			t.Console = was.Console
		}
		var streamed []DeviceMemory
		if err == nil {
			streamed, err = t.onLedgers(place, true)
		}
		if err != nil {
			return false, err
		}
		if m := (MemoryPlan{Devices: streamed}); m.fits() {
			k := slices.IndexFunc(held, func(d DeviceMemory) bool { return !d.Fits })
			t.Console.Note("stream: %s has %s and would have to hold %s: %d parts take turns in up to %s of a device",
				held[k].Device, term.Size(held[k].Budget), term.Size(held[k].Peak), parts,
				term.Size(slices.MaxFunc(streamed, func(a, b DeviceMemory) int { return cmp.Compare(a.Peak, b.Peak) }).Peak))
			if err = devices.CloseAll(t.Devices); err == nil { // their peaks are of what did not fit
				t.Devices, err = devices.Open(t.Specs)
			}
			return err == nil, err
		}
	}
	*t = was
	return false, nil
}

// onLedgers returns what place takes of devices without an end.
func (t *Run) onLedgers(place func(on []gpu.Device, stream bool) error, stream bool) (list []DeviceMemory, err error) {
	var books []gpu.Device
	for _, d := range t.Devices {
		books = append(books, ledger.InPlaceOf(d, 0))
	}
	err = place(books, stream)
	for i, b := range books {
		d := DeviceMemory{Device: t.Specs[i].String(), Budget: t.Devices[i].Info().Budget, Peak: b.Memory().HighWater}
		d.Fits = d.Peak <= d.Budget
		list = append(list, d)
	}
	return list, err
}

// turns says in a line how parts take turns, in place of held ones that would take what m says.
func (p *MemoryPlan) turns(held *MemoryPlan, asked bool) string {
	var list []string
	var up, down gpu.Bytes
	for _, s := range p.Streamed {
		up, down = up+s.Up, down+s.Down
	}
	for i, d := range p.Devices {
		if s := p.Streamed[i]; s.Parts > 0 {
			list = append(list, fmt.Sprintf("%s take turns in %s of %s", number.Counted(s.Parts, "part"),
				term.Size(s.Window), d.Device))
		}
	}
	text := fmt.Sprintf("%s; %s go up and %s down in an epoch", strings.Join(list, ", "), term.Size(up), term.Size(down))
	if k := slices.IndexFunc(held.Devices, func(d DeviceMemory) bool { return !d.Fits }); k >= 0 && !asked {
		d := held.Devices[k]
		text = fmt.Sprintf("%s has %s and would have to hold %s: %s", d.Device, term.Size(d.Budget), term.Size(d.Peak), text)
	}
	return text
}
