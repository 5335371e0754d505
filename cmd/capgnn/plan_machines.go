package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/internal/number"
)

// planMachines says what a run would take on one machine, on two, and so on.
func planMachines(ctx context.Context, t *training.Run) error {
	t.BeginStages("prepare")
	defer t.Console.EndStages()
	for _, step := range []func(context.Context) error{t.Load, t.ChooseMachines} {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return t.BeforeTraining(err)
		}
	}
	t.Console.Enter(term.Checking)
	if t.Config.Sampled() {
		return planSampledMachines(ctx, t)
	}
	p, err := t.PlanMachines(ctx)
	t.Console.EndStages()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return t.BeforeTraining(err)
	}
	if err := printMachines(p, t.Console); err != nil {
		return err
	}
	if p.Best == 0 {
		all := p.Counts[len(p.Counts)-1]
		return tooSmall(all.Machines, all.Peak, all.Budget)
	}
	return nil
}

// planSampledMachines is planMachines of a run on samples.
func planSampledMachines(ctx context.Context, t *training.Run) error {
	p, err := t.PlanSampledMachines(ctx)
	t.Console.EndStages()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return t.BeforeTraining(err)
	}
	if err := printSampledMachines(p, t.Console); err != nil {
		return err
	}
	for i := range p.Counts {
		if p.Counts[i].Fits {
			return nil
		}
	}
	all := p.Counts[len(p.Counts)-1]
	return tooSmall(all.Machines, all.Peak, all.Budget)
}

// tooSmall says that the run does not fit so many machines, whose fullest device needs so much.
func tooSmall(machines int, peak, budget gpu.Bytes) error {
	return &term.FitError{Err: fmt.Errorf("the run needs %s of a device that has %s, on %s", term.Size(peak), term.Size(budget), term.Counted(machines, "machine")),
		Remedy: fmt.Sprintf("give each device %s more (mem=)", term.Size(peak-budget))}
}

// printMachines writes the plan: one JSON line, or a table and the answer.
func printMachines(p *training.MachinePlan, k *term.Console) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(p)
	}
	t := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "machines\tdevices\tepoch\tof one\tint8 rows\tnetwork\tmost memory\t")
	for i := range p.Counts {
		c := &p.Counts[i]
		encoded, busiest, note := "–", "–", ""
		if c.EncodedS != nil {
			encoded = term.Duration(c.EncodedS)
		}
		if c.Busiest > 0 {
			busiest = term.Size(c.Busiest)
		}
		if !c.Fits {
			note = "does not fit"
		} else if p.Doubtful(i) {
			note = moreThanSum
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s of %s\t%s\n", c.Machines, devices.InWords(strings.Join(c.Devices, ",")), term.Duration(&c.EpochS), number.Ratio.Text(c.Speedup), encoded, busiest,
			term.Size(c.Peak), term.Size(c.Budget), note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	pairsOf(p, k.Out)
	advice := machineAdvice(p)
	if p.Best > 0 && p.Doubtful(p.Best-1) {
		advice += "\ndoubtful: " + doubt(&p.Counts[p.Best-1].Subset)
	}
	_, err := fmt.Fprintln(k.Out, advice)
	return err
}

// pairsOf says what each pair of all machines sends in an epoch.
func pairsOf(p *training.MachinePlan, w io.Writer) {
	all := p.Counts[len(p.Counts)-1]
	if len(all.Pairs) == 0 {
		return
	}
	fmt.Fprintf(w, "\nbetween %s, in an epoch\n", term.Counted(all.Machines, "machine"))
	for _, x := range all.Pairs {
		fmt.Fprintf(w, "  %d to %d  %s\n", x.From, x.To, term.Size(x.Bytes))
	}
	fmt.Fprintln(w)
}

// machineAdvice says how many machines to take. It never advises what was forecast to be slower.
func machineAdvice(p *training.MachinePlan) string {
	if p.Best == 0 {
		return "it fits none of them"
	}
	best := &p.Counts[p.Best-1]
	var all []string
	for i := range p.Counts {
		if c := &p.Counts[i]; c.Machines > 1 && c.Machines != p.Best && c.Fits {
			all = append(all, fmt.Sprintf("%d machines: %sx of one", c.Machines, number.Ratio.Text(c.Speedup)))
		}
	}
	switch {
	case p.Best == 1 && p.Encoded:
		all = append(all, "stay on one, with --halo-dtype int8")
	case p.Best == 1:
		all = append(all, "stay on one")
	case p.Encoded:
		all = append(all, fmt.Sprintf("take %d machines with --halo-dtype int8: %sx of one", p.Best, number.Ratio.Text(p.Counts[0].EpochS / *best.EncodedS)))
	default:
		all = append(all, fmt.Sprintf("take %d machines: %sx of one", p.Best, number.Ratio.Text(best.Speedup)))
	}
	return strings.Join(all, "; ")
}
