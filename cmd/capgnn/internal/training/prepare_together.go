package training

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/jaca"
	"capgnn/profiler"
	"capgnn/rapa"
)

// preparationsTogether are Preparations of several ranks. What is measured and decided is so at rank 0, and the others get it.
func (t *Run) preparationsTogether() []func(context.Context) error {
	if t.Config.Sampled() {
		return []func(context.Context) error{t.Load, t.compareInitial, t.compareData, t.placeTogether, t.mapShards, t.profileTogether, t.decideStepsTogether, t.Open, t.preflightSampled, t.comparePlans}
	}
	return []func(context.Context) error{t.Load, t.compareInitial, t.compareData, t.placeTogether, t.mapShards, t.profileTogether, t.decideTogether, t.orderRows, t.Open, t.preflight, t.comparePlans}
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
func (t *Run) offered() (offer, error) {
	local, here := t.Ranks.Local()
	auto := devices.IsAuto(t.Own.Devices)
	specs, err := devices.Parse(t.Own.Devices)
	if err == nil {
		err = devices.Check(t.Own.Devices)
	}
	if err != nil {
		return offer{}, err
	}
	if specs[0].Simulated() {
		return offer{}, term.Usagef("--devices: %s: simulated devices have one clock, in one process: over several ranks name real ones", specs[0].Text)
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
	place, err := newPlacement(t.Workers(), counts)
	if err != nil {
		return term.Usagef("%s: %w", t.Config.SaysParts(), err)
	}
	for rank, s := range specs {
		used := place.first[rank+1] - place.first[rank]
		t.Specs = append(t.Specs, s[:used]...)
		place.models = append(place.models, all[rank].Models[:used]...)
		lo, hi := place.ranges.Of(rank)
		t.Console.Note("%s: %s of %d, from %d on, on %s", t.Ranks.Name(rank), term.Counted(hi-lo, "part"), t.Workers(), lo, devices.Format(s[:used]))
	}
	for i := range t.Specs {
		t.Specs[i].TF32 = t.Specs[i].GPU && t.Config.TF32
	}
	place.began, t.place = t.Config.Devices, place
	t.Config.Devices, t.Config.Parts = devices.Format(t.Specs), t.Parts
	if _, err := devices.Parse(t.Config.Devices); err != nil { // a resumed run reads it
		return err
	}
	t.noteProducts()
	t.estimateStages()
	return nil
}

// wantsProfile reports whether something is decided by what devices were measured to do.
func (t *Run) wantsProfile() bool {
	if t.Config.Sampled() {
		return t.Config.Targets == "" && (t.Config.Profile != "" || t.uneven())
	}
	recorded := t.Config.PlanKey != "" && findPlan(t.Console, t.Config.PlanKey, t.PlanFile, t.Data.Problem.Vertices()) != nil
	if t.Data.Shards == nil && t.Config.Plan == "" && !recorded && (t.Config.Profile != "" || t.uneven()) {
		return true
	}
	return jaca.Policy(t.Config.Cache) == jaca.JACA && t.Config.CacheLinks.String() == "" && !t.linksKnown()
}

// profileTogether sets Profile to that of all ranks' devices, if something is decided by it. Ranks of one machine measure one after the other.
func (t *Run) profileTogether(ctx context.Context) error {
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

// decideTogether takes the parts, the caches and the order of rows from rank 0.
func (t *Run) decideTogether(ctx context.Context) error {
	return t.takeDecisions(ctx, t.Divide, t.SettleCache, t.SettleAging, t.Arrange)
}

// decideStepsTogether takes the parts from rank 0, and what each of them computes of a step.
func (t *Run) decideStepsTogether(ctx context.Context) error {
	if err := t.takeDecisions(ctx, t.Divide, t.settleShares); err != nil || t.Ranks.Leads() {
		return err
	}
	return t.settleShares(ctx) // which the settings have by now
}

// takeDecisions takes what some steps decide from rank 0.
func (t *Run) takeDecisions(ctx context.Context, steps ...func(context.Context) error) error {
	var text, plan []byte
	err := error(nil)
	if t.Ranks.Leads() {
		for _, step := range steps {
			if err == nil {
				err = errors.Join(step(ctx), ctx.Err())
			}
		}
		if err == nil {
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

// orderRows finds the order of rows that rank 0 has chosen.
func (t *Run) orderRows(ctx context.Context) (err error) {
	if !t.Ranks.Leads() && t.Config.Order != runfolder.OrderNone {
		t.rank, err = t.ranks(ctx)
	}
	return err
}

// comparePlans refuses ranks that would compute something else, which nothing but a fault of the program or of a machine brings about.
func (t *Run) comparePlans(ctx context.Context) error {
	h := sha256.New()
	fmt.Fprintln(h, t.identity())
	h.Write(hostmem.Bytes(t.rank))
	return t.Ranks.Same(ctx, func(f *cluster.Facts) { f.Plan, f.Layout = t.Plan.Key, hex.EncodeToString(h.Sum(nil)) })
}

// settleTogether is settleSlots of several ranks: if a device of one of them is too small for the caches, those of all shrink.
func (t *Run) settleTogether(ctx context.Context) (*MemoryPlan, error) {
	opt := t.ProblemOptions()
	m, _, err := t.account(ctx, bare(opt), false)
	if err == nil {
		err = t.FitMemory(ctx, m)
	}
	if err := t.Ranks.Agree(ctx, err); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		m, caches, err := t.account(ctx, opt, true)
		var oom *gpu.OutOfMemory
		lack := gpu.Bytes(0)
		if errors.As(err, &oom) && try < cacheTries {
			lack, err = oom.Need-oom.Have, nil
		}
		if err := t.Ranks.Agree(ctx, err); err != nil {
			return nil, err
		}
		lacks, err := ranks.All(ctx, t.Ranks, lack)
		if err != nil {
			return nil, err
		}
		if lack = slices.Max(lacks); lack == 0 {
			if caches != nil && t.Config.CacheSlots.String() == "" {
				t.Config.Set("cache-slots", runfolder.FormatSlots(&caches.Capacities))
			}
			return m, nil
		}
		opt.Cache.ReserveDevice += 2 * lack
	}
}
