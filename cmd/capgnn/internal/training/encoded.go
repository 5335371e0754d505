package training

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/pipeline"
	"capgnn/pipeline/halo"
	"capgnn/profiler"
)

// EncodedRows says on which links halo rows that are encoded on their way make an epoch shorter than rows as they are stored.
type EncodedRows struct {
	HaloType string `json:"halo_dtype"`
	// PaysBelow is the rate of links, in bytes per second and direction, the same for all devices, up to which encoded rows save the share encodedGain of an
	// epoch; 0: at none from slowestLink on, null: at all up to fastestLink.
	PaysBelow *float64 `json:"pays_below"`
}

const (
	slowestLink, fastestLink = float64(16 << 20), float64(256 << 30) // bytes per second
	// rateStep is the ratio of two rates that are told apart: the rate is told with two digits.
	rateStep = 1.1
	// encodedGain is the share of an epoch that encoded rows must save: less is within the error of the forecast, and rounding costs accuracy.
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

// EncodedRows forecasts epochs of the run, with encoded rows and with rows as they are stored, over links of many rates, and finds the rate at which one gets
// faster than the other: halving the span of rates, as what encoding saves falls with the rate. The encoding is the run's own, else int8. It is nil where no
// rows go from device to device, or the run does not fit.
func (t *Run) EncodedRows(ctx context.Context) (*EncodedRows, error) {
	if t.Parts == 1 || len(t.Specs) == 1 || t.Ranks != nil {
		return nil, nil
	}
	profile, err := t.Profile, error(nil)
	if profile == nil {
		if profile, err = devices.Profile(ctx, t.Console, t.Specs, t.Config.Profile); err != nil {
			return nil, err
		}
	}
	part, dropped := t.parts()
	opt, err := t.forecastOptions(profile, part, dropped)
	if err != nil {
		return nil, err
	}
	opt.Layout = t.layout
	as := opt.Cache.HaloType
	if as == halo.FP32 {
		as = halo.Int8
	}
	steps := int(math.Ceil(math.Log(fastestLink/slowestLink) / math.Log(rateStep)))
	rate := func(k int) float64 { return slowestLink * math.Pow(rateStep, float64(k)) }
	first := sort.Search(steps+1, func(k int) bool { // that does not pay
		saves := false
		if err == nil {
			saves, err = t.saves(ctx, profile, opt, as, rate(k))
		}
		return !saves
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

// saves reports whether rows encoded in a way make an epoch shorter over links of a rate.
func (t *Run) saves(ctx context.Context, profile *profiler.Profile, opt pipeline.Options, as halo.Encoding, rate float64) (bool, error) {
	opt.Cache.HaloType = halo.FP32
	exact, err := t.simulateOver(ctx, profile, opt, true, rate)
	if err != nil {
		return false, err
	}
	opt.Cache.HaloType = as
	encoded, err := t.simulateOver(ctx, profile, opt, true, rate)
	if err != nil {
		return false, err
	}
	return encoded.EpochS < exact.EpochS*(1-encodedGain), nil
}
