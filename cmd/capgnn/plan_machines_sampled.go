package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/internal/number"
)

// printSampledMachines writes the plan: one JSON line, or tables and the answer.
func printSampledMachines(p *training.SampledMachinePlan, k *term.Console) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(p)
	}
	t := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "machines\tdevices\tepoch\tof one\tthe first\tmost memory\t")
	for i := range p.Counts {
		c := &p.Counts[i]
		epoch, speedup, first, note := "–", "–", "–", ""
		if c.Later.EpochS != nil {
			epoch, first = term.Duration(c.Later.EpochS), term.Duration(c.First.EpochS)
		}
		if c.Speedup != nil {
			speedup = number.Ratio.Text(*c.Speedup)
		}
		if !c.Fits {
			note = "does not fit"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s of %s\t%s\n", c.Machines, devices.InWords(strings.Join(c.Devices, ",")), epoch, speedup, first, term.Size(c.Peak), term.Size(c.Budget), note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	all := &p.Counts[len(p.Counts)-1]
	if err := sampledPairs(all, k.Out); err != nil {
		return err
	}
	if all.Rows != nil {
		if err := rowsTable(all.Rows, fmt.Sprintf("between %s", term.Counted(all.Machines, "machine")), k.Out); err != nil {
			return err
		}
		fmt.Fprintln(k.Out)
	}
	_, err := fmt.Fprintln(k.Out, sampledAdvice(p))
	return err
}

// sampledPairs says what each pair of all machines sends.
func sampledPairs(c *training.SampledMachines, w io.Writer) error {
	if len(c.First.Pairs) == 0 {
		return nil
	}
	later := map[[2]int]training.SampledPair{}
	for _, x := range c.Later.Pairs {
		later[[2]int{x.From, x.To}] = x
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nbetween %s\trows\trequests\tgradients\ta later epoch\n", term.Counted(c.Machines, "machine"))
	for _, x := range c.First.Pairs {
		fmt.Fprintf(t, "  %d to %d, the first epoch\t%s\t%s\t%s\t%s\n", x.From, x.To, term.Size(x.Rows), term.Size(x.Requests), term.Size(x.Gradients), term.Size(later[[2]int{x.From, x.To}].Bytes))
	}
	return t.Flush()
}

// sampledAdvice says how many machines to take. It never advises what was forecast to be slower.
func sampledAdvice(p *training.SampledMachinePlan) string {
	if p.Net == "" {
		return "say what connects machines, as in --machines net=1Gbit/s, to see if they pay"
	}
	if p.Best == 0 {
		return "it fits none of them"
	}
	var all []string
	for i := range p.Counts {
		if c := &p.Counts[i]; c.Machines > 1 && c.Machines != p.Best && c.Fits {
			all = append(all, fmt.Sprintf("%d machines: %sx of one", c.Machines, number.Ratio.Text(*c.Speedup)))
		}
	}
	answer := "stay on one"
	if p.Best > 1 {
		answer = fmt.Sprintf("take %d machines: %sx of one", p.Best, number.Ratio.Text(*p.Counts[p.Best-1].Speedup))
	}
	return strings.Join(append(all, answer), "; ")
}
