package training

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
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
	// Sum is what its devices do in the time in which the fastest of all does an epoch alone, each alone, in epochs; 0: not known.
	Sum float64 `json:"sum,omitempty"`
}

// Doubtful reports whether a forecast promises more than the sum of what the devices do alone, by more than what is printed: parts take as long as the whole at
// best, but for caches of processors that hold a part and not the whole.
func (s *Subset) Doubtful() bool { return s.Sum > 0 && s.Speedup > 1.005*s.Sum }

// maxSubsets bounds how many subsets are simulated, each with parts of its own.
const maxSubsets = 64

// Subsets forecasts the run on every choice of its devices, the fastest that fits first. Devices that are alike count as one
// kind, of which a choice has so many.
func (t *Run) Subsets(ctx context.Context) ([]Subset, error) {
	profile := t.Profile
	if profile == nil {
		var err error
		if profile, err = devices.Profile(ctx, t.Console, t.Specs, t.Config.Profile); err != nil {
			return nil, err
		}
	}
	choices := chooseSome(t.Specs)
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
		s, err := t.forecastOn(ctx, choice, profile)
		if misfit := (*term.FitError)(nil); errors.As(err, &misfit) && len(choice) < len(t.Specs) { // the run on all of them may fit
			continue
		}
		if err != nil {
			return nil, err
		}
		able = append(able, choice)
		if len(choice) == 1 {
			each[kindOf(t.Specs, choice[0])] = s.EpochS
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
			if took := each[kindOf(t.Specs, d)]; took > 0 {
				out[i].Sum += alone / took
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Subset) int {
		if a.Fits != b.Fits {
			return cmp.Compare(b2i(b.Fits), b2i(a.Fits))
		}
		return cmp.Compare(a.EpochS, b.EpochS)
	})
	return out, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kindOf returns the first device that is like device i.
func kindOf(specs []devices.Spec, i int) int {
	return slices.IndexFunc(specs, func(e devices.Spec) bool {
		return devices.Alike([]devices.Spec{specs[i], e}) && specs[i].Memory == e.Memory
	})
}

// chooseSome returns the indices of every choice of devices that differs from the others in what it has, smaller ones first.
func chooseSome(specs []devices.Spec) [][]int {
	kind := make([]int, len(specs))
	for i := range specs {
		kind[i] = kindOf(specs, i)
	}
	choices := [][]int{{}}
	for i := range specs {
		for _, c := range choices {
			// Of one kind, a choice takes the first ones: a device only after all earlier ones of its kind.
			earlier, taken := 0, 0
			for j := range i {
				if kind[j] == kind[i] {
					earlier++
					if slices.Contains(c, j) {
						taken++
					}
				}
			}
			if earlier == taken {
				choices = append(choices, append(slices.Clone(c), i))
			}
		}
	}
	choices = choices[1:]
	slices.SortStableFunc(choices, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	return choices
}

// forecastOn forecasts the run on some of its devices, with parts made for them.
func (t *Run) forecastOn(ctx context.Context, choice []int, profile *profiler.Profile) (Subset, error) {
	var specs []devices.Spec
	some := *profile
	some.Devices = nil
	for _, i := range choice {
		specs, some.Devices = append(specs, t.Specs[i]), append(some.Devices, profile.Devices[i])
	}
	_, s, err := t.on(specs, &some).outlook(ctx)
	return s, err
}

// on returns the run as it would be on other devices, which a profile describes: nothing of it is decided, and it says nothing.
func (t *Run) on(specs []devices.Spec, profile *profiler.Profile) *Run {
	quiet := *t
	quiet.trying = true
	quiet.Console = &term.Console{Out: io.Discard, Err: io.Discard, Quiet: true}
	quiet.Config.Plan, quiet.Config.PlanKey, quiet.Config.Targets, quiet.PlanFile = "", "", "", ""
	quiet.Config.Set("cache-slots", "")
	quiet.Config.Set("cache-links", "")
	quiet.forgetAging()
	quiet.Specs, quiet.Parts, quiet.Plan, quiet.cutting, quiet.layout, quiet.Profile = specs, len(specs), nil, true, nil, profile
	if t.Config.Isolated.Value != nil {
		quiet.Parts = t.Parts
	}
	if quiet.Parts == 1 || quiet.Parts != t.Parts { // machines are of all parts, and one part is never divided
		quiet.Config.Set("machines", "")
	}
	return &quiet
}

// outlook makes the parts of a run and forecasts it.
func (t *Run) outlook(ctx context.Context) (*Outlook, Subset, error) {
	if err := t.Divide(ctx); err != nil {
		return nil, Subset{}, err
	}
	if err := t.agingOf(ctx, t.Profile); err != nil {
		return nil, Subset{}, err
	}
	o, err := t.Forecast(ctx, t.Profile, t.Plan.Part, t.Plan.Dropped)
	if err != nil {
		return nil, Subset{}, err
	}
	s := Subset{EpochS: o.EpochS, CommS: o.CommS, Bytes: o.Bytes, GradientBytes: o.GradientBytes, GradientS: o.GradientS, Fits: true}
	fullest := -1.0
	for i, d := range t.Specs {
		s.Devices = append(s.Devices, d.String())
		budget := t.Budget(t.Profile, i)
		if share := float64(o.Peak[i]) / float64(max(1, budget)); share > fullest {
			fullest, s.Peak, s.Budget = share, o.Peak[i], budget
		}
		s.Fits = s.Fits && o.Peak[i] <= budget
	}
	return o, s, nil
}
