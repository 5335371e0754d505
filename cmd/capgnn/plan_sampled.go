package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
)

// printSampled writes the plan of a run on samples, and whether it fits: one JSON line, or the answers, with buffers also what memory is for.
func printSampled(ctx context.Context, t *training.Run, p *training.SampledPlan, buffers bool) error {
	k, misfit := t.Console, t.FitSampled(ctx, p)
	if k.JSON {
		return errors.Join(json.NewEncoder(k.Out).Encode(p), misfit)
	}
	if err := sampledAnswers(p, k.Out); err != nil {
		return err
	}
	if p.Rows != nil {
		if err := rowsTable(p.Rows, "", k.Out); err != nil {
			return err
		}
	}
	if buffers {
		for i := range p.Parts {
			if err := usesTable(fmt.Sprintf("part %d, %s", i, p.Parts[i].Device), &p.Parts[i].Amount, k.Out); err != nil {
				return err
			}
		}
		if err := usesTable("host memory", &p.Host, k.Out); err != nil {
			return err
		}
	}
	return misfit
}

// sampledAnswers says whether the run fits, what an epoch reads, and what memory it takes at most.
func sampledAnswers(p *training.SampledPlan, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	verdict := "yes"
	if !p.Fits {
		verdict = "no, it does not fit"
	}
	fmt.Fprintf(t, "fits\t%s\n", verdict)
	fmt.Fprintf(t, "epoch\t%s of %s, %s\n", term.Counted(p.Epoch.Steps, "step"), term.Counted(p.BatchSize, "root"), runfolder.Drawn(p.Sampler, p.Fanout))
	fmt.Fprintf(t, "\tabout %s edges are sampled, %s rows of features read\n", term.Grouped(p.Epoch.Edges), term.Grouped(p.Epoch.Rows))
	if len(p.Parts) > 1 {
		fmt.Fprintf(t, "\t%s of these rows are fetched from other parts\n", term.Grouped(p.Epoch.Fetched))
	}
	if len(p.Parts) > 1 {
		fmt.Fprintf(t, "\t%s\n", p.Shares())
	}
	for i := range p.Parts {
		name, m := "", &p.Parts[i]
		if i == 0 {
			name = "memory"
		}
		fmt.Fprintf(t, "%s\tpart %d, %s: at most %s of %s, %s of it slack\n", name, i, m.Device, term.Size(m.Bound), term.Size(m.Budget), term.Size(m.Slack))
		if m.Resident > 0 {
			fmt.Fprintf(t, "\t%s of features stay on it\n", term.Counted(m.Resident, "row"))
		}
	}
	fmt.Fprintf(t, "host memory\tat most %s, %s of it slack\n", term.Size(p.Host.Bound), term.Size(p.Host.Slack))
	if p.Rows != nil {
		c := &p.Rows.Cache
		fmt.Fprintf(t, "row cache\t%s is enough, %s rows a part: the first epoch fetches\n", cacheKey(c.Share), term.Grouped(slices.Max(c.Slots)))
		fmt.Fprintf(t, "\t%s rows with %s; with larger caches at least %s\n", term.Grouped(c.Rows), c.Setting, term.Grouped(c.Best))
	}
	return t.Flush()
}

// cacheKey returns the key of --sampling that asks for a share of the rows.
func cacheKey(share float64) string {
	return "cache=" + strconv.FormatFloat(100*share, 'g', 4, 64) + "%"
}

// rowsTable writes what an epoch fetches of other parts, by the place of roots and the way to fetch. between says between whom; "": parts.
func rowsTable(p *training.RowsPlan, between string, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	table := func(title string, counts []training.RowCount) {
		fmt.Fprintf(t, "\n%s\trows fetched\tbytes\trequests\n", title)
		for _, c := range counts {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", c.Setting, term.Grouped(c.Rows), term.Size(c.Bytes), term.Grouped(c.Requests))
		}
	}
	if between != "" {
		fmt.Fprintf(t, "\n%s", between)
	}
	table("the first epoch, no cache", p.Places)
	table("the first epoch, "+cacheKey(p.Cache.Share), p.Ways)
	return t.Flush()
}

// usesTable writes what memory is for.
func usesTable(of string, a *training.Amount, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\n%s\tat most\tslack\n", of)
	for _, u := range a.Uses {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", u.Name, term.Size(u.Bound), term.Size(u.Slack))
	}
	return t.Flush()
}
