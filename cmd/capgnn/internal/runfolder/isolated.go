package runfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/pipeline"
	"capgnn/pipeline/chunks"
	"capgnn/rapa"
)

// isolated is the option that has parts train without rows of each other.
const isolated = "isolated"

// isolatedUsage is the help of --isolated.
const isolatedUsage = "parts exchange gradients and no rows. Each part trains on two chunks of the graph: its own, and another one that changes. " +
	"`KEY=VALUE,...`, or nothing for all defaults" +
	"\nchunks=N\tnumber of chunks (default: --parts)" +
	"\nphases=M\tM parts train at a time, and then the optimiser makes a step (default: all parts)" +
	"\ntargets=WHICH\tbase (training vertices of a part's own chunk) or both (of its two chunks) (default: base)" +
	"\ncorrection=HOW\tnone, uniform, resampling, node, inclusion or longrun: how missing edges are made up for (default: none)" +
	"\nlayers=WHICH\tinner (the first layer keeps all edges) or all (no layer does) (default: inner)"

// Isolated is what --isolated says.
type Isolated struct {
	Chunks int // 0 = as many as parts
	Phases int // parts that train at a time; 0 = all
	pipeline.Isolated
}

// parseIsolated reads --isolated: "" and false are nil, true is all defaults.
func parseIsolated(text string) (*Isolated, error) {
	if text == "" || text == "false" {
		return nil, nil
	}
	i := &Isolated{Isolated: pipeline.Isolated{Targets: chunks.Base, Correction: chunks.None}}
	if text == "true" {
		return i, nil
	}
	k, err := parseKeys(text, isolatedKeys)
	if k.said && err == nil {
		err = fmt.Errorf("%q is not a KEY=VALUE, such as chunks=8", k.head)
	}
	if err != nil {
		return nil, err
	}
	for _, v := range k.values {
		if err := i.set(v.key, v.text); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// isolatedKeys are what --isolated takes.
var isolatedKeys = []string{"chunks", "phases", "targets", "correction", "layers"}

// isolatedLayers are the values of layers.
var isolatedLayers = []string{"inner", "all"}

// set gives a key its value.
func (i *Isolated) set(key, value string) error {
	among := func(choices []string) error {
		if !slices.Contains(choices, value) {
			return fmt.Errorf("%s=%s is not one of %s", key, term.Quoted(value, choices), strings.Join(choices, ", "))
		}
		return nil
	}
	var err error
	switch key {
	case "chunks":
		n, bad := strconv.ParseUint(value, 10, 31)
		if bad != nil || n < 2 || n > maxParts {
			return fmt.Errorf("chunks=%s is not in [2, %d]: isolated parts hold two at a time", value, maxParts)
		}
		i.Chunks = int(n)
	case "phases":
		n, bad := strconv.ParseUint(value, 10, 31)
		if bad != nil || n < 1 || n > maxParts {
			return fmt.Errorf("phases=%s is not in [1, %d]: it says how many parts train at a time", value, maxParts)
		}
		i.Phases = int(n)
	case "targets":
		err, i.Targets = among(Names(chunks.AllTargets)), chunks.Targets(value)
	case "correction":
		err, i.Correction = among(Names(chunks.Corrections)), chunks.Correction(value)
	case "layers":
		err, i.AllLayers = among(isolatedLayers), value == "all"
	}
	return err
}

// exchanged are the options of rows that parts exchange, and of edges that they leave out, which isolated parts do not have.
var exchanged = rowsOf("prune", "cache", "staleness", HaloDtype)

// RefuseExchange refuses options that isolated parts do not have: those that are not at their default, and those that flags have given, whatever their value.
func (c *Config) RefuseExchange(given []string) error {
	if c.Isolated.Value == nil {
		return nil
	}
	list := c.said(func(o Option) bool { return slices.Contains(exchanged, o.Name) }, given)
	var bad []string
	if list != nil {
		bad = append(bad, fmt.Sprintf("drop %s: isolated parts train on whole chunks and exchange no rows", strings.Join(list, " ")))
	}
	if other := c.ofOtherSamples(given); c.Sampled() && other != nil {
		bad = append(bad, fmt.Sprintf("drop %s: isolated parts have their own training vertices as roots and fetch no rows; they are not planned for machines with --%s",
			strings.Join(other, " "), batchSize))
	}
	if bad == nil {
		return nil
	}
	return term.Usagef("%s", strings.Join(bad, "; "))
}

// ofOtherSamples lists what of sampled training isolated parts do not have: their roots are their targets, and no rows are fetched.
// Over machines they are not forecast.
func (c *Config) ofOtherSamples(given []string) []string {
	list := c.said(func(o Option) bool {
		return o.Name == machinesOption || o.Name == NetOption
	}, given)
	s := c.Sampling.Value
	if s.Prefetch = samplings[0].Prefetch; c.Sampling.err == nil && s != samplings[0] {
		list = append(list, fmt.Sprintf("--%s %s (but for prefetch)", sampling, c.Sampling))
	}
	return list
}

// checkIsolated looks at --isolated, and at what does not go with it.
func (c *Config) checkIsolated(p *problems) {
	if err := c.Isolated.err; err != nil {
		p.add("--%s: %w", isolated, err)
		return
	}
	i := c.Isolated.Value
	if i == nil {
		return
	}
	if err := c.RefuseExchange(nil); err != nil {
		p.add("%w", err)
	}
	model, by := c.AnyNetwork(), "--model "+c.Model
	if !c.ModelFile() && c.dropsFeatures() {
		by = "--" + dropFeaturesOption
	}
	switch {
	case model.Sums() != nil:
		p.add("--%s: --model %s sums over several graphs or weights of edges, and isolated parts keep one: drop --%s, or train another model", isolated, c.Model, isolated)
	case i.AllLayers:
	case model.KeepsOrigin():
		p.add("--%s: say layers=all with --model %s: its first layer reads what a network makes of features, so it is cut as the others are", isolated, c.Model)
	case c.dropsFeatures():
		p.add("--%s: say layers=all with %s: sums of features that are dropped cannot be made once, so the first layer is cut as the others are", isolated, by)
	}
	if i.Correction.EdgeWeights() && model.Attends() {
		p.add("--%s: correction=%s weighs edges, which %s does by itself: choose another one, or train gcn, sage or gin", isolated, i.Correction, c.Model)
	}
	if i.Correction != chunks.None && !i.Correction.EdgeWeights() && c.ElementType() != gpu.FP32 {
		p.add("--%s: correction=%s needs --storage fp32", isolated, i.Correction)
	}
	if i.Chunks > 0 && c.Parts > 0 && c.Parts != i.Chunks {
		p.add("--%s: chunks=%d beside --parts %d: isolated parts have one chunk each: drop one of them", isolated, i.Chunks, c.Parts)
	}
}

// ownPartitioner gives a run with isolated parts random chunks, where none are said.
func (c *Config) ownPartitioner(said bool) {
	if c.Isolated.Value != nil && !said {
		c.Partitioner = string(rapa.Random)
	}
}

// PartCount returns how many parts a run on so many devices has: --parts, else one for each device; of isolated ones as many as chunks.
func (c *Config) PartCount(devices, vertices int) (int, error) {
	parts := c.Parts
	if parts == 0 {
		parts = devices
	}
	i := c.Isolated.Value
	if i == nil {
		if parts > vertices && c.Parts == 0 {
			return 0, term.Usagef("--devices: %s for %s, and each device has a part: name at most as many as vertices",
				term.Counted(devices, "device"), term.Counted(vertices, "vertex"))
		}
		if parts > vertices {
			return 0, term.Usagef("--parts %d: the graph has %s: use at most that many parts", parts, term.Counted(vertices, "vertex"))
		}
		return parts, nil
	}
	if i.Chunks > 0 {
		parts = i.Chunks
	}
	if parts < 2 {
		return 0, term.Usagef("--%s: one part is too few, as each trains on its own chunk and another: give the number of chunks, as in --%s=chunks=8, or more devices", isolated, isolated)
	}
	if err := chunks.Check(parts, vertices); err != nil {
		return 0, term.Usagef("--%s: %w", isolated, err)
	}
	if err := chunks.CheckPhases(c.WorkersOf(parts), parts); err != nil {
		return 0, term.Usagef("--%s: phases=%d: %w", isolated, i.Phases, err)
	}
	return parts, nil
}

// SaysParts returns the flag that has given the number of parts that train at a time.
func (c *Config) SaysParts() string {
	if c.Phased() {
		return fmt.Sprintf("--%s=phases=%d", isolated, c.Isolated.Value.Phases)
	}
	if i := c.Isolated.Value; i != nil && i.Chunks > 0 {
		return fmt.Sprintf("--%s=chunks=%d", isolated, i.Chunks)
	}
	return fmt.Sprintf("--parts %d", c.Parts)
}

// Phased reports whether parts take turns, so that the graph may be larger than the memory of devices.
func (c *Config) Phased() bool { return c.Isolated.Value != nil && c.Isolated.Value.Phases > 0 }

// WorkersOf returns how many of so many parts train at a time: all, but for isolated ones that take turns.
func (c *Config) WorkersOf(parts int) int {
	if c.Phased() {
		return c.Isolated.Value.Phases
	}
	return parts
}
