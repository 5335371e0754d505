package training

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/hostmem"
	"capgnn/jaca"
	"capgnn/profiler"
	"capgnn/rapa"
)

// OptionsTogether returns the settings that the flags of a rank say, which all ranks have to agree in before they
// begin.
func OptionsTogether(c *cli.Context) (map[string]string, error) {
	cfg := runfolder.Default()
	if _, err := runfolder.ApplyFlags(c, &cfg); err != nil {
		return nil, err
	}
	options := map[string]string{"config": c.String("config"), "resume": c.String("resume")}
	for _, o := range runfolder.Options {
		if !o.FileOnly {
			options[strings.TrimPrefix(runfolder.Label(o.Name), "--")] = fmt.Sprint(o.Value(&cfg))
		}
	}
	return options, checkTogether(&cfg)
}

// checkTogether refuses settings that several ranks do not train by.
func checkTogether(c *runfolder.Config) error {
	if c.Cache == string(jaca.Paper) {
		return term.Usagef("--cache %s works within one process: over several ranks choose jaca or none", c.Cache)
	}
	return nil
}

// beginning is what rank 0 says of a run that begins.
type beginning struct {
	Config string        `json:"config"`
	Given  []string      `json:"given"`
	Resume bool          `json:"resume"`
	Dir    runfolder.Dir `json:"dir"` // of the run that is resumed
	Done   bool          `json:"done"`
}

// BeginTogether returns the run of this rank. It has the settings that begin returns, which only rank 0 is asked for,
// but for what is this rank's own. nil: the run that was to be resumed is finished, and rank 0 has its result.
func BeginTogether(ctx context.Context, k *term.Console, m *ranks.Members, own Own,
	begin func() (*Run, error)) (*Run, *runfolder.Result, error) {
	t := New(k, "", runfolder.Default())
	var result *runfolder.Result
	var says beginning
	var err error
	if m.Leads() {
		if t, err = begin(); err == nil {
			result, err = t.Finished()
		}
		if err == nil {
			var text []byte
			text, err = runfolder.FormatConfig(&t.Config)
			says = beginning{string(text), t.Given, t.Resume, t.Dir, result != nil}
		}
	}
	if err := m.Agree(ctx, err); err != nil {
		return nil, nil, err
	}
	if says, err = ranks.First(ctx, m, says); err != nil || says.Done {
		return nil, result, err
	}
	if !m.Leads() {
		t.Given, t.Resume, t.Dir = says.Given, says.Resume, says.Dir
		err = runfolder.ParseConfig([]byte(says.Config), &t.Config)
		t.useOwn(own)
	}
	if err := m.Agree(ctx, err); err != nil {
		return nil, nil, err
	}
	program, err := m.FirstBytes(ctx, t.Config.Program())
	if err == nil && !m.Leads() {
		err = t.Config.SetProgram(program)
	}
	t.Ranks, t.Own = m, own
	return t, nil, m.Agree(ctx, err)
}

// useOwn puts what is said for this rank into the settings of rank 0.
func (d *Decisions) useOwn(own Own) {
	c := &d.Config
	if c.Profile = own.Profile; own.Dataset != "" && own.Dataset != c.Dataset {
		c.Dataset, c.DatasetPath = own.Dataset, ""
	}
	if !term.Exists(c.DatasetPath) { // it lies elsewhere on this machine
		c.DatasetPath = ""
	}
}

// TakePart returns the run of a rank by the settings that rank 0 has, text in the format of config.yaml, but for what
// is this rank's own.
func TakePart(k *term.Console, m *ranks.Members, own Own, text string) (*Run, error) {
	t := New(k, "", runfolder.Default())
	t.Ranks, t.Own = m, own
	err := runfolder.ParseConfig([]byte(text), &t.Config)
	t.useOwn(own)
	return t, err
}

// alikeFault makes an error that all ranks have found by themselves one that they need not tell each other.
func alikeFault(err error) error {
	if err == nil {
		return nil
	}
	return &term.Elsewhere{Code: term.ExitCode(err), Line: term.OneLine(err)}
}

// compareData refuses ranks with different data sets.
func (t *Run) compareData(ctx context.Context) error {
	return t.Ranks.Same(ctx, func(f *cluster.Facts) {
		if f.Data = t.Config.DataSHA256; t.Data.Shards != nil { // then the plan is that of the shards
			f.Plan = t.Data.Shards.Plan.Key
		}
	})
}

// offer is what a rank has.
type offer struct {
	Devices string   `json:"devices"` // in the grammar of --devices
	Models  []string `json:"models"`  // their hardware
}

// offered returns the devices of this rank: those that are named for it, or its share of the machine.
func (w *Where) offered() (offer, error) {
	local, here := w.Ranks.Local()
	auto := devices.IsAuto(w.Own.Devices)
	specs, err := devices.Parse(w.Own.Devices)
	if err == nil {
		err = devices.Check(w.Own.Devices)
	}
	if err != nil {
		return offer{}, err
	}
	if specs[0].Simulated() {
		return offer{}, term.Usagef("--devices: %s: simulated devices have one clock, in one process: "+
			"over several ranks name real ones", specs[0].Text)
	}
	divided := 0
	if auto && specs[0].GPU {
		divided = len(specs)
	}
	share, err := cluster.ShareOf(local, here, divided, devices.Cores())
	if err != nil {
		return offer{}, term.AsUsage(err)
	}
	if divided > 0 {
		specs = specs[share.First : share.First+share.Devices]
	}
	devices.ShareCores(specs, share.Threads)
	o := offer{Devices: devices.Format(specs)}
	opened, err := devices.OpenBeside(specs, here)
	if err != nil {
		return offer{}, err
	}
	for _, d := range opened {
		o.Models = append(o.Models, d.Info().Model)
	}
	return o, devices.CloseAll(opened)
}

// placeTogether is ChooseDevices of several ranks: Specs are the devices of all of them.
func (t *Run) placeTogether(ctx context.Context) error {
	mine, err := t.offered()
	if err := t.Ranks.Agree(ctx, err); err != nil {
		return err
	}
	all, err := ranks.All(ctx, t.Ranks, mine)
	if err != nil {
		return err
	}
	return alikeFault(t.putOn(all))
}

// putOn puts the parts on the devices of all ranks.
func (t *Run) putOn(all []offer) error {
	specs, counts, lists, total := make([][]devices.Spec, len(all)), make([]int, len(all)), make([]string, len(all)), 0
	for rank, o := range all {
		var err error
		if specs[rank], err = devices.Parse(o.Devices); err != nil {
			return err
		}
		counts[rank], lists[rank] = len(specs[rank]), o.Devices
		total += counts[rank]
	}
	if was := t.Config.Devices; !t.Resume && !devices.IsAuto(was) && was != strings.Join(lists, ",") {
		changed := []string{"devices"}
		for _, name := range []string{"parts", "machines"} { // which hold for these devices where flags say them
			if slices.Contains(t.Given, name) {
				changed = append(changed, name)
			}
		}
		runfolder.Forget(&t.Config, changed)
	}
	var err error
	if t.Parts, err = t.Config.PartCount(total, t.Data.Problem.Vertices()); err != nil {
		return err
	}
	placed, err := newPlacement(t.Workers(), counts)
	if err != nil {
		return term.Usagef("%s: %w", t.Config.SaysParts(), err)
	}
	for rank, s := range specs {
		used := placed.first[rank+1] - placed.first[rank]
		t.Specs = append(t.Specs, s[:used]...)
		placed.models = append(placed.models, all[rank].Models[:used]...)
		lo, hi := placed.ranges.Of(rank)
		t.Console.Note("%s: %s of %d, from %d on, on %s", t.Ranks.Name(rank), term.Counted(hi-lo, "part"), t.Workers(), lo,
			devices.Format(s[:used]))
	}
	for i := range t.Specs {
		t.Specs[i].TF32 = t.Specs[i].GPU && t.Config.TF32
	}
	placed.began, t.placed = t.Config.Devices, placed
	t.Config.Devices, t.Config.Parts = devices.Format(t.Specs), t.Parts
	if _, err := devices.Parse(t.Config.Devices); err != nil { // a resumed run reads it
		return err
	}
	noteProducts(&t.Forecaster)
	estimateStages(&t.Forecaster)
	return nil
}

// measure sets Profile to that of all ranks' devices, if something is decided by it; a process alone measures when it
// has to. Ranks of one machine measure one after the other.
func (t *Run) measure(ctx context.Context) error {
	if t.Ranks == nil {
		return nil
	}
	wanted, err := ranks.First(ctx, t.Ranks, t.Ranks.Leads() && t.wantsProfile())
	if err != nil || !wanted {
		return err
	}
	local, here := t.Ranks.Local()
	turns, err := ranks.All(ctx, t.Ranks, here)
	if err != nil {
		return err
	}
	var mine *profiler.Profile
	for turn := range slices.Max(turns) {
		var err error
		if turn == local {
			mine, err = devices.Profile(ctx, t.Console, t.ownSpecs(), t.Config.Profile)
		}
		if err := t.Ranks.Agree(ctx, err); err != nil {
			return err
		}
	}
	all, err := ranks.All(ctx, t.Ranks, mine)
	if err == nil {
		t.Profile = joined(all)
	}
	return err
}

// joined returns one profile of the devices of all. Those of different ranks do not reach each other's memory.
func joined(all []*profiler.Profile) *profiler.Profile {
	p := *all[0]
	for _, q := range all[1:] {
		p.Devices = append(slices.Clip(p.Devices), q.At(p.N).Devices...)
		p.Pairs = append(slices.Clip(p.Pairs), profiler.Pair{})
	}
	return &p
}

// decideTogether takes the decisions of rank 0.
func (t *Run) decideTogether(ctx context.Context, deciders []Decider) error {
	var text, plan []byte
	err := error(nil)
	if t.Ranks.Leads() {
		if err = t.Decide(ctx, deciders...); err == nil {
			text, err = runfolder.FormatConfig(&t.Config)
		}
		if err == nil && t.Data.Shards == nil {
			plan, err = t.Plan.MarshalBinary()
		}
	}
	if err := t.Ranks.Agree(ctx, err); err != nil {
		return err
	}
	if text, err = t.Ranks.FirstBytes(ctx, text); err != nil {
		return err
	}
	if t.Data.Shards == nil {
		plan, err = t.Ranks.FirstBytes(ctx, plan)
	}
	if err != nil || t.Ranks.Leads() {
		return err
	}
	own := t.Config
	if err = runfolder.ParseConfig(text, &t.Config); err != nil {
		return err
	}
	t.Config.Dataset, t.Config.DatasetPath, t.Config.Profile = own.Dataset, own.DatasetPath, own.Profile
	if t.Data.Shards != nil {
		t.Plan = t.Data.Shards.Plan
		return nil
	}
	t.Plan = new(rapa.Plan)
	return t.Plan.UnmarshalBinary(plan)
}

// follow finds what rank 0 has decided and settings only name: the order of rows, and what each part computes of a
// step.
func (t *Run) follow(ctx context.Context) (err error) {
	switch {
	case t.Ranks.Leads():
	case t.Config.Sampled():
		t.Decisions, err = settleShares(ctx, t.Forecaster)
	default:
		err = t.takeOrder(ctx)
	}
	return err
}

// comparePlans refuses ranks that would compute something else, which nothing but a fault of the program or of a
// machine brings about.
func (t *Run) comparePlans(ctx context.Context) error {
	if t.Ranks == nil {
		return nil
	}
	h := sha256.New()
	fmt.Fprintln(h, t.identity(t.began(t.Resume)))
	h.Write(hostmem.Bytes(t.rank))
	return t.Ranks.Same(ctx, func(f *cluster.Facts) { f.Plan, f.Layout = t.Plan.Key, hex.EncodeToString(h.Sum(nil)) })
}
