package runfolder

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/minibatch"
	"capgnn/minibatch/sample"
)

// Names of options that only sampled training has.
const (
	batchSize  = "batch-size"
	fanOut     = "fanout"
	sampler    = "sampler"
	evalFanout = "fanout.eval"
	sampling   = "sampling"
	merged     = "merged"
)

// What --sampler may be.
const (
	SamplerNeighbor = "neighbor"
	SamplerLadies   = "ladies"
)

// Sampled training where nothing is said.
const (
	sampledEpochs    = 30
	sampledEvalEvery = 1
)

// allNeighbours is how the fan-out sample.All is written.
const allNeighbours = "all"

// parseFanout reads a fan-out for each layer, nearest the roots first; "" is nil: by the model and the features.
func parseFanout(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var out []int
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == allNeighbours {
			out = append(out, sample.All)
			continue
		}
		n, err := strconv.ParseUint(item, 10, 31)
		if err != nil || n == 0 || n >= sample.All {
			return nil, fmt.Errorf("%q is not a number of neighbours from 1 on, or all: give one for each layer, such as 15,10,5", item)
		}
		out = append(out, int(n))
	}
	return out, nil
}

// formatFanout is the inverse of parseFanout.
func formatFanout(fanout []int) string {
	items := make([]string, len(fanout))
	for i, n := range fanout {
		if items[i] = strconv.Itoa(n); n == sample.All {
			items[i] = allNeighbours
		}
	}
	return strings.Join(items, ",")
}

// SettleFanout records the fan-outs of a sampled run that says none.
func (c *Config) SettleFanout(sparse bool) {
	if !c.Sampled() || c.Fanout.Value != nil {
		return
	}
	drawn := sparse
	if i := c.Isolated.Value; i != nil && i.AllLayers { // sums of features would be of the whole graph
		drawn = true
	}
	fanout := minibatch.DefaultFanout(c.AnyNetwork(), drawn)
	for h, n := range fanout {
		if c.Sampler == SamplerLadies && n != sample.All {
			fanout[h] = c.BatchSize
		}
	}
	c.Set(fanOut, formatFanout(fanout))
}

// Drawn says how many neighbours a sampler draws.
func Drawn(sampler, fanout string) string {
	if sampler == SamplerLadies {
		return fmt.Sprintf("layers of %s vertices", fanout)
	}
	return "fan-outs " + fanout
}

// Sampled reports whether the run trains on mini-batches of sampled neighbours.
func (c *Config) Sampled() bool { return c.BatchSize > 0 }

// SampledDefault returns the settings of a run where nothing is said but that it is sampled. The learning rate is full batch's: docs/bench/sampled.md has what was measured.
func SampledDefault() Config {
	c := Default()
	c.Epochs, c.EvalEvery = sampledEpochs, sampledEvalEvery
	c.Set(sampling, c.Sampling.Value.String())
	return c
}

// SpellSampling spells --sampling out, as config.yaml has it.
func (c *Config) SpellSampling() {
	if c.Sampled() && c.Sampling.err == nil {
		c.Set(sampling, c.Sampling.Value.String())
	}
}

// ofFullBatch are the options that say how full-batch training lays out vertices, what it prunes, and how it exchanges rows.
var ofFullBatch = append(rowsOf("cost", "prune", streamOption),
	slices.DeleteFunc(slices.Clone(CacheOptions), func(name string) bool { return name == gpuCache })...)

// checkSampling looks at the options of sampled training, and at those that it does not have.
func (c *Config) checkSampling(p *problems) {
	p.within(batchSize, c.BatchSize, 0, math.MaxInt32)
	p.within("checkpoint-every", c.CheckpointEvery.Steps, 0, math.MaxInt32)
	if err := c.Fanout.err; err != nil {
		p.add("--%s: %w", fanOut, err)
	}
	if err := c.EvalFanout.err; err != nil {
		p.add("%s: %w", Label(evalFanout), err)
	}
	if err := c.Sampling.err; err != nil {
		p.add("--%s: %w", sampling, err)
	}
	if err := c.Merged.err; err != nil {
		p.add("%s: %w", merged, err)
	}
	if c.BatchSize == 0 {
		if list := c.sampledOnly(); list != "" {
			p.add("%s: for sampled training only: add --batch-size, such as --batch-size 1024", list)
		}
		return
	}
	if c.Sampler == SamplerLadies {
		switch {
		case c.Isolated.Value != nil:
			p.add("--%s %s with --%s: isolated parts draw neighbours: drop one of them", sampler, c.Sampler, isolated)
		case c.AnyNetwork().Attends():
			p.add("--%s %s with --model %s: attention weighs edges by itself: drop one of them", sampler, c.Sampler, c.Model)
		}
	}
	for _, list := range []struct {
		name string
		Text[[]int]
	}{{fanOut, c.Fanout}, {evalFanout, c.EvalFanout}} {
		if n := len(list.Value); n > 0 && n != c.Exchanges() {
			hops := "layer"
			if c.Exchanges() != c.Layers {
				hops = "neighbour sum"
			}
			p.add("%s: %s for %s: give one for each %s, nearest the roots first", written(list.name, list.Text),
				term.Counted(n, "fan-out"), term.Counted(c.Exchanges(), hops), hops)
		}
	}
	if err := c.RefuseFullBatch(nil); err != nil {
		p.add("%w", err)
	}
}

// RefuseFullBatch refuses options that only full-batch training has, beside --batch-size: those that are not at their default, and those that flags have given,
// whatever their value: but --stream auto, which leaves it to the run.
func (c *Config) RefuseFullBatch(given []string) error {
	given = slices.DeleteFunc(slices.Clone(given), func(name string) bool { return name == streamOption })
	if list := c.fullBatchOnly(given); c.Sampled() && list != "" {
		return term.Usagef("drop %s: for full-batch training only, not with --batch-size %d", list, c.BatchSize)
	}
	return nil
}

// sampledOnly lists what is set that only sampled training has.
func (c *Config) sampledOnly() string {
	list := c.said(func(o Option) bool { return o.Sampled }, nil)
	if c.CheckpointEvery.Steps > 0 {
		list = append(list, fmt.Sprintf("--checkpoint-every %s", c.CheckpointEvery))
	}
	return strings.Join(list, " ")
}

// fullBatchOnly lists what is set, or given, that only full-batch training has.
func (c *Config) fullBatchOnly(given []string) string {
	list := c.said(func(o Option) bool { return slices.Contains(ofFullBatch, o.Name) }, given)
	if c.Order != OrderAuto && c.Order != OrderNone {
		list = append(list, "--order "+c.Order)
	}
	return strings.Join(list, " ")
}

// said lists options that are not at their default, or among those given.
func (c *Config) said(among func(Option) bool, given []string) []string {
	defaults := Default()
	var list []string
	for _, o := range Options {
		switch v := o.Value(c); {
		case !among(o) || v == o.Value(&defaults) && !slices.Contains(given, o.Name):
		default:
			list = append(list, written(o.Name, v))
		}
	}
	return list
}
