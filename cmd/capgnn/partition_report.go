package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/internal/number"
	"capgnn/rapa"
)

// partitionReport is the object that `partition --json` prints as its last line. Times are in seconds; null = not known.
type partitionReport struct {
	Dataset     string            `json:"dataset"`
	Partitioner string            `json:"partitioner"`
	Objective   string            `json:"objective"`
	Seed        uint64            `json:"seed"`
	EdgeCut     int64             `json:"edge_cut"`     // unordered pairs whose ends lie in different parts
	Volume      int64             `json:"volume"`       // Σ_v number of other parts in which v has a neighbour
	HaloRows    int64             `json:"halo_rows"`    // Σ_i |H_i|, pruned replicas not counted
	Between     *int64            `json:"machine_rows"` // Σ_v number of other machines on which v has a neighbour; null: there is one
	Balance     rapa.Balance      `json:"balance"`
	Parts       []partReport      `json:"parts"`
	Seconds     float64           `json:"seconds"`    // of partitioning and adjusting
	PeakBytes   gpu.Bytes         `json:"peak_bytes"` // of this process
	Forecast    *training.Outlook `json:"forecast"`   // null without devices or without features and labels
	Moved       int64             `json:"moved"`      // vertices that went to another part than the partitioner's
	Pruned      *pruneReport      `json:"pruned"`     // null: nothing was asked to go
	Trace       []rapa.Iteration  `json:"trace"`      // how the parts were balanced; null: they were not
	Stop        string            `json:"stop"`       // why adjusting stopped, "" without
	Plan        string            `json:"plan"`       // file of --out, "" without
	Shards      string            `json:"shards"`     // folder of --shards, "" without
	Plot        string            `json:"plot"`       // file of --plot
}

// partReport is one part of a partitionReport.
type partReport struct {
	Part   int    `json:"part"`
	Device string `json:"device"` // "" without --devices
	Inner  int64  `json:"inner"`  // vertices
	Halo   int64  `json:"halo"`   // remote vertices that are read
	Edges  int64  `json:"edges"`  // in-edges of inner vertices that are kept
	Cut    int64  `json:"cut"`    // those of Edges that begin in another part
	Train  int64  `json:"train"`  // training vertices
	Lost   int64  `json:"lost"`   // pruned in-edges
	// Lambda is the cost of Eq. 13; null without devices.
	Lambda *float64 `json:"lambda"`
	// EpochS is the forecast time in which the device works on an epoch, waits for others not counted.
	EpochS *float64 `json:"epoch_s"`
	// Bytes are moved to and from the device in an epoch; PeakBytes is what its buffers take, of Budget.
	Bytes     *gpu.Bytes `json:"bytes"`
	PeakBytes *gpu.Bytes `json:"peak_bytes"`
	Budget    *gpu.Bytes `json:"budget"`
}

// pruneReport says what pruning cost.
type pruneReport struct {
	Edges int64   `json:"edges"` // in-edges left out
	Share float64 `json:"share"` // of the cut in-edges
	Rows  int64   `json:"rows"`  // halo rows left out
}

// print writes the report: one JSON line, or tables.
func (r *partitionReport) print(k *term.Console) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(r)
	}
	return r.table(k.Out)
}

func (r *partitionReport) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	cells := []string{"part", "inner", "halo", "edges", "cut", "training"}
	if r.Pruned != nil {
		cells = append(cells, "pruned")
	}
	if r.Parts[0].Device != "" {
		cells = append(cells, "device", "λ")
	}
	if r.Forecast != nil {
		cells = append(cells, "epoch", "moved", "memory", "of")
	}
	fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
	for _, p := range r.Parts {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t", p.Part, term.Grouped(p.Inner), term.Grouped(p.Halo), term.Grouped(p.Edges), term.Grouped(p.Cut), term.Grouped(p.Train))
		if r.Pruned != nil {
			fmt.Fprintf(t, "%s\t", term.Grouped(p.Lost))
		}
		if p.Device != "" {
			fmt.Fprintf(t, "%s\t%s\t", p.Device, number.Plain.Or(p.Lambda))
		}
		if r.Forecast != nil {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t", term.Duration(p.EpochS), term.Size(*p.Bytes), term.Size(*p.PeakBytes), term.Size(*p.Budget))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	s := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, a ...any) { fmt.Fprintf(s, "%s\t"+format+"\n", append([]any{name}, a...)...) }
	row("edge cut", "%s", term.Grouped(r.EdgeCut))
	row("volume", "%s rows", term.Grouped(r.Volume))
	row("halo rows", "%s", term.Grouped(r.HaloRows))
	if r.Between != nil {
		row("between machines", "%s rows", term.Grouped(*r.Between))
	}
	row("balance", "%s", balanceText(r.Balance))
	if f := r.Forecast; f != nil {
		row("forecast", "%s", f)
	}
	if p := r.Pruned; p != nil {
		row("pruned", "%s in-edges (%s of the cut), %s halo rows", term.Grouped(p.Edges), term.Percentage(p.Share), term.Grouped(p.Rows))
	}
	if r.Stop != "" {
		row("moved", "%s to balance the load, %s after %s", term.Counted(int(r.Moved), "vertex"), r.Stop, term.Counted(len(r.Trace)-1, "step"))
	}
	row("time", "%s, %s at most", term.Duration(&r.Seconds), term.Size(r.PeakBytes))
	for _, f := range []string{r.Plot, r.Plan, r.Shards} {
		if f != "" {
			row("written", "%s", f)
		}
	}
	return s.Flush()
}

// balanceText says how far the fullest part is above its share, of what there is to share.
func balanceText(b rapa.Balance) string {
	var items []string
	for _, q := range []struct {
		name string
		x    float64
	}{{"vertices", b.Vertices}, {"edges", b.Edges}, {"training vertices", b.Train}} {
		if q.x > 0 {
			items = append(items, q.name+" "+number.Plain.Text(q.x))
		}
	}
	return strings.Join(items, "  ")
}
