package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/clustercheck"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/profiler"
)

func profileCommand() *cli.Command {
	return &cli.Command{
		Name:  "profile",
		Usage: "measure the speed of devices", UsageText: "capgnn profile --devices cpu:threads=1,cpu:threads=1,slow=3",
		Description: "Measures dense and sparse products, copies, and the operations of training, 6 s for each device. " +
			"The profile is kept in the cache, where train finds it. The same command continues an interrupted measurement.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "devices", Usage: "`LIST` as for train", DefaultText: "auto"},
			&cli.BoolFlag{Name: "full", Usage: "measure all sizes, 50 times, up to the largest matrices (Table 1 of the paper): takes minutes"},
			&cli.BoolFlag{Name: "quick", Usage: "measure only small matrices, few times, and no operations of training: takes a few seconds"},
			&cli.StringFlag{Name: "out", Usage: "write the profile to `FILE` too"},
			&cli.BoolFlag{Name: "cluster", Category: runfolder.GroupMachines, Usage: "measure rates and latencies between the ranks (capgnn launch --hosts a,b -- profile --cluster --out FILE), then rank 0's devices; plan --machines N,net=FILE forecasts by them"},
		}, runfolder.FlagsOf(ranks.Flags...)...),
		Action: profileAction,
	}
}

func profileAction(c *cli.Context) error {
	k := term.NewConsole(c)
	ctx, stop := term.Interruptible(c.Context, k, "after this measurement")
	defer stop()
	specs, err := devices.Parse(c.String("devices"))
	if err != nil {
		return err
	}
	if specs[0].Simulated() {
		return term.Usagef("profile: %s is simulated: what it can do stands in its card, not in a measurement", specs[0])
	}
	if err := term.CheckOut("out", c.String("out")); err != nil {
		return err
	}
	k.KeepStdoutFor(c.String("out"))
	opt, err := profileOptions(c)
	if err != nil {
		return err
	}
	lines, ends, err := lines(ctx, c, k)
	if err != nil || ends {
		return err
	}
	devices.ShareCores(specs, devices.Cores())
	path, err := devices.LatestProfile()
	if err != nil {
		k.Note("the profile is not cached: %v", err)
	}
	p, err := devices.MeasureInto(ctx, k, specs, opt, path)
	if err != nil {
		return err
	}
	if p.Net = lines; lines != nil && path != "" {
		if err := p.Write(path); err != nil {
			k.Note("the profile is not cached: %v", err)
		}
	}
	if path != "" {
		k.Note("profile: %s", path)
	}
	if out := c.String("out"); out != "" {
		if err := p.Write(out); err != nil {
			return term.Usagef("--out: %w", err)
		}
	}
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(p)
	}
	_, err = fmt.Fprint(k.Out, p.Table())
	return err
}

// lines measures what connects the ranks, where that is asked for, and reports whether the command ends with that: it does at all ranks but the first.
func lines(ctx context.Context, c *cli.Context, k *term.Console) (net []profiler.NetPair, ends bool, err error) {
	if !c.Bool("cluster") {
		return nil, false, refuseRanks(c)
	}
	o, err := checkOptions(c)
	if err != nil {
		return nil, true, err
	}
	pairs, err := clustercheck.Lines(ctx, k, o)
	for _, p := range pairs {
		net = append(net, profiler.NewNetPair(p.From, p.To, p.Rate, p.RoundTrip.Seconds()))
		k.Note("from rank %d to %d: %s/s, round trip %v", p.From, p.To, term.Size(gpu.Bytes(p.Rate)), p.RoundTrip.Round(time.Microsecond))
	}
	return net, o.Place.Rank > 0, err
}

// profileOptions returns how `capgnn profile` measures.
func profileOptions(c *cli.Context) (profiler.Options, error) {
	switch full, quick := c.Bool("full"), c.Bool("quick"); {
	case full && quick:
		return profiler.Options{}, term.Usagef("profile: --full and --quick: give one of them")
	case full:
		return profiler.Options{Calibrate: true}, nil
	case quick:
		return profiler.Options{Quick: true}, nil
	}
	return devices.Brief(), nil
}
