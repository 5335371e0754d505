package training

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/pipeline/halo"
	"capgnn/profiler"
)

// Subset is some of the devices, and what a run on these alone would take. Times are in seconds.
type Subset struct {
	Devices []string  `json:"devices"`
	EpochS  float64   `json:"epoch_s"`
	CommS   float64   `json:"communication_s"` // the most that a device transfers in an epoch
	Bytes   gpu.Bytes `json:"bytes"`           // moved in an epoch
	// GradientBytes and GradientS are what gradients and new weights take of Bytes and CommS.
	GradientBytes gpu.Bytes `json:"gradient_bytes"`
	GradientS     float64   `json:"gradient_s"`
	Peak          gpu.Bytes `json:"peak"`   // of the device that needs most of what it has
	Budget        gpu.Bytes `json:"budget"` // of that device
	Fits          bool      `json:"fits"`
	Speedup       float64   `json:"speedup"` // over the fastest of the devices alone, whether it fits or not
	// Sum is what its devices do in the time in which the fastest of all does an epoch alone, each alone, in epochs; 0:
	// not known.
	Sum float64 `json:"sum,omitempty"`
}

// Doubtful reports whether a forecast promises more than the sum of what the devices do alone, by more than what is
// printed: parts take as long as the whole at best, but for caches of processors that hold a part and not the whole.
func (s *Subset) Doubtful() bool { return s.Sum > 0 && s.Speedup > 1.005*s.Sum }

// maxSubsets bounds how many subsets are simulated, each with parts of its own.
const maxSubsets = 64

// Subsets forecasts the run on every choice of its devices, the fastest that fits first. Devices that are alike count
// as one kind, of which a choice has so many.
func (t *Forecaster) Subsets(ctx context.Context) ([]Subset, error) {
	profile, err := t.Measured(ctx)
	if err != nil {
		return nil, err
	}
	choices := devices.Choices(t.Specs)
	if t.Config.Isolated.Value != nil { // chunks stay as many
		choices = choices[len(choices)-1:]
	}
	if len(choices) > maxSubsets {
		t.Console.Note("note: %d choices of devices: only the first %d are looked at", len(choices), maxSubsets)
		choices = choices[:maxSubsets]
	}
	bar := t.Console.Begin("forecast", int64(len(choices)), "choices", 0)
	defer bar.End()
	var out []Subset
	alone, each := 0.0, map[int]float64{} // seconds of one device, by kind
	able := choices[:0]
	for i, choice := range choices {
		var specs []devices.Spec
		some := *profile
		some.Devices = nil
		for _, d := range choice {
			specs, some.Devices = append(specs, t.Specs[d]), append(some.Devices, profile.Devices[d])
		}
		o := t.on(specs, &some)
		_, s, err := o.outlook(ctx)
		if misfit := (*term.FitError)(nil); errors.As(err, &misfit) && (len(choice) < len(t.Specs) || t.streams) {
			continue // the run on all of them, or in turns, may fit
		}
		if err != nil {
			return nil, err
		}
		able = append(able, choice)
		if len(choice) == 1 {
			each[devices.KindOf(t.Specs, choice[0])] = s.EpochS
			if alone == 0 || s.EpochS < alone {
				alone = s.EpochS
			}
		}
		out = append(out, s)
		bar.At(int64(i+1), strings.Join(s.Devices, " "))
	}
	for i := range out {
		out[i].Speedup = alone / out[i].EpochS
		for _, d := range able[i] {
			if took := each[devices.KindOf(t.Specs, d)]; took > 0 {
				out[i].Sum += alone / took
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Subset) int {
		if a.Fits != b.Fits {
			return map[bool]int{true: -1, false: 1}[a.Fits]
		}
		return cmp.Compare(a.EpochS, b.EpochS)
	})
	return out, nil
}

// on returns the run as it would be on other devices, which a profile describes: nothing of it is decided, and it says
// nothing.
func (t *Forecaster) on(specs []devices.Spec, profile *profiler.Profile) Forecaster {
	o := Forecaster{Input: t.Input, Decisions: t.Decisions.open(), Where: t.Where}
	o.trying, o.cutting, o.PlanFile, o.Console = true, true, "", quiet()
	o.Specs, o.Parts, o.Profile = specs, len(specs), profile
	if t.Config.Isolated.Value != nil {
		o.Parts = t.Parts
	}
	if o.Parts == 1 || o.Parts != t.Parts { // machines are of all parts, and one part is never divided
		o.Config.Set("machines", "")
	}
	return o
}

// quiet is a console on which nothing is said.
func quiet() *term.Console { return &term.Console{Out: io.Discard, Err: io.Discard, Quiet: true} }

// outlook makes the parts of a run and forecasts it.
func (t *Forecaster) outlook(ctx context.Context) (*Outlook, Subset, error) {
	for _, decide := range []Decider{Divide, agingOf} {
		d, err := decide(ctx, *t)
		if err != nil {
			return nil, Subset{}, err
		}
		t.Decisions = d
	}
	o, err := t.Forecast(ctx, t.Plan.Part, t.Plan.Dropped)
	if err != nil {
		return nil, Subset{}, err
	}
	s := Subset{EpochS: o.EpochS, CommS: o.CommS, Bytes: o.Bytes, GradientBytes: o.GradientBytes, GradientS: o.GradientS}
	for _, d := range t.Specs {
		s.Devices = append(s.Devices, d.String())
	}
	s.Peak, s.Budget, s.Fits = t.fullest(o.Peak[:len(t.Specs)])
	return o, s, nil
}

// EncodedRows says on which links halo rows that are encoded on their way make an epoch shorter than rows as they are
// stored.
type EncodedRows struct {
	HaloType string `json:"halo_dtype"`
	// PaysBelow is the rate of links, in bytes per second and direction, the same for all devices, up to which encoded
	// rows save the share encodedGain of an epoch; 0: at none from slowestLink on, null: at all up to fastestLink.
	PaysBelow *float64 `json:"pays_below"`
}

const (
	slowestLink, fastestLink = float64(16 << 20), float64(256 << 30) // bytes per second
	// rateStep is the ratio of two rates that are told apart: the rate is told with two digits.
	rateStep = 1.1
	// encodedGain is the share of an epoch that encoded rows must save: less is within the error of the forecast, and
	// rounding costs accuracy.
	encodedGain = agingGain
)

// String says it in a few words.
func (c *EncodedRows) String() string {
	switch {
	case c.PaysBelow == nil:
		return fmt.Sprintf("%s rows pay on all links of up to %s/s", c.HaloType, term.Size(gpu.Bytes(fastestLink)))
	case *c.PaysBelow == 0:
		return fmt.Sprintf("%s rows pay on no link of %s/s or more", c.HaloType, term.Size(gpu.Bytes(slowestLink)))
	}
	return fmt.Sprintf("%s rows pay below %s/s per link", c.HaloType, term.Size(gpu.Bytes(*c.PaysBelow)))
}

// EncodedRows forecasts epochs of the run, with encoded rows and with rows as they are stored, over links of many
// rates, and finds the rate at which one gets faster than the other: halving the span of rates, as what encoding saves
// falls with the rate. The encoding is the run's own, else int8. It is nil where no rows go from device to device, or
// the run does not fit.
func (t *Forecaster) EncodedRows(ctx context.Context) (*EncodedRows, error) {
	if t.Parts == 1 || len(t.Specs) == 1 || t.Ranks != nil || t.streams {
		return nil, nil
	}
	profile, err := t.Measured(ctx)
	if err != nil {
		return nil, err
	}
	measured := *t
	measured.Profile = profile
	opt, err := measured.forecastOptions(t.parts(t.Data.Problem.Vertices()))
	if err != nil {
		return nil, err
	}
	if opt.Layout = t.layout; opt.Model.Messages() { // its rows have to be exact
		return nil, nil
	}
	as := opt.Cache.HaloType
	if as == halo.FP32 {
		as = halo.Int8
	}
	steps := int(math.Ceil(math.Log(fastestLink/slowestLink) / math.Log(rateStep)))
	rate := func(k int) float64 { return slowestLink * math.Pow(rateStep, float64(k)) }
	took := func(rows halo.Encoding, k int) (seconds float64) {
		opt.Cache.HaloType = rows
		var o *Outlook
		if err == nil {
			o, err = measured.simulate(ctx, opt, true, rate(k))
		}
		if err == nil {
			seconds = o.EpochS
		}
		return seconds
	}
	first := sort.Search(steps+1, func(k int) bool { // that does not pay
		exact, encoded := took(halo.FP32, k), took(as, k)
		return err != nil || encoded >= exact*(1-encodedGain)
	})
	c := &EncodedRows{HaloType: as.String()}
	switch oom := (*gpu.OutOfMemory)(nil); {
	case errors.As(err, &oom):
		return nil, nil
	case err != nil:
		return nil, err
	case first == 0:
		c.PaysBelow = new(float64)
	case first <= steps:
		below := rate(first)
		c.PaysBelow = &below
	}
	return c, nil
}
