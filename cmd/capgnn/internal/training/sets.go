package training

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/learn"
)

// shareSets settles the training, validation and test vertices that the folder of the run keeps. Of several ranks on
// shards each knows those of its own vertices: rank 0 gets them all.
func (t *Run) shareSets(ctx context.Context) error {
	p, in := t.Data.Problem, t.Data
	masks := [3][]bool{p.Train, p.Val, p.Test}
	if t.Ranks != nil && p.Shards != nil {
		var own [3][]byte
		for i, mask := range masks {
			own[i] = packed(mask)
		}
		all, err := ranks.AtFirst(ctx, t.Ranks, own)
		if err != nil {
			return err
		}
		masks = [3][]bool{}
		for _, of := range all {
			for i, bits := range of {
				masks[i] = unpacked(masks[i], bits, p.Vertices())
			}
		}
	}
	for i, mask := range masks {
		if mask == nil {
			masks[i] = make([]bool, p.Vertices())
		}
	}
	t.sets = &runfolder.Sets{Train: masks[0], Val: masks[1], Test: masks[2], IDs: in.IDs, Names: in.VertexNames}
	return nil
}

// packed returns a mask in bits.
func packed(mask []bool) []byte {
	bits := make([]byte, (len(mask)+7)/8)
	for v, in := range mask {
		if in {
			bits[v/8] |= 1 << (v % 8)
		}
	}
	return bits
}

// unpacked adds to a mask of n vertices, nil none, what packed returned.
func unpacked(mask []bool, bits []byte, n int) []bool {
	if mask == nil {
		mask = make([]bool, n)
	}
	for v := range min(n, 8*len(bits)) {
		mask[v] = mask[v] || bits[v/8]>>(v%8)&1 == 1
	}
	return mask
}

// noteSets says what there is no score of, what chooses the best weights where validation has no score, and which
// settings then have no effect.
func (t *Run) noteSets() {
	if !t.Ranks.Leads() {
		return
	}
	if !slices.Contains(t.sets.Test, true) {
		t.Console.Note("note: %s has no test vertices: there is no test score", t.Data.Name)
	}
	for _, note := range labelNotes(t.Data.Problem, t.Data.Names.Classes, t.Data.Drawn) {
		t.Console.Note("note: %s", note)
	}
	p, has, lacks := t.Data.Problem, slices.Contains(t.sets.Val, true), "no validation vertices"
	if has && !t.Config.BestByLoss() && !t.metric().Scores(p, p.Val) {
		has, lacks = false, "validation vertices that have no "+string(t.metric())
	} else if has && p.Shards == nil && !learn.Auto.Scores(p, p.Val) {
		has, lacks = false, "validation vertices without labels"
	}
	if has {
		return
	}
	var idle []string
	if t.Config.BestByLoss() {
		idle = append(idle, "--metric best-by="+t.Config.BestBy)
	}
	if t.Config.Patience > 0 {
		idle = append(idle, fmt.Sprintf("--patience %d", t.Config.Patience))
	}
	text := ""
	switch len(idle) {
	case 1:
		text = "; " + idle[0] + " has no effect"
	case 2:
		text = "; " + strings.Join(idle, " and ") + " have no effect"
	}
	t.Console.Note("note: %s has %s: the last weights count as the best%s", t.Data.Name, lacks, text)
}

// labelNotes says of which labels nothing can be learnt, and how many vertices of the sets count for nothing. names are those of the
// classes, nil: they have none. drawn: the program drew the sets.
func labelNotes(p *learn.Problem, names []string, drawn bool) (notes []string) {
	if p.Labels == nil || p.Shards != nil {
		return nil
	}
	used, trained := make([]bool, p.Classes), make([]bool, p.Classes)
	var without []string
	for k, mask := range [][]bool{p.Train, p.Val, p.Test} {
		all, none := 0, 0
		for v, in := range mask {
			switch y := p.Labels[v]; {
			case !in:
				continue
			case y < 0:
				none++
			case k == 0:
				trained[y] = true
			}
			all++
		}
		if none > 0 {
			without = append(without, fmt.Sprintf("%d of %d %s vertices", none, all, [3]string{"training", "validation", "test"}[k]))
		}
	}
	if len(without) > 0 {
		notes = append(notes, fmt.Sprintf("without a label, and so without effect: %s", strings.Join(without, ", ")))
	}
	for _, y := range p.Labels {
		if y >= 0 {
			used[y] = true
		}
	}
	var all, lost []string
	for y := range used {
		if !used[y] {
			continue
		}
		name := strconv.Itoa(y)
		if names != nil {
			name = fmt.Sprintf("%.40q", names[y])
		}
		if all = append(all, name); !trained[y] {
			lost = append(lost, name)
		}
	}
	const shown = 8
	switch {
	case len(all) == 1:
		notes = append(notes, fmt.Sprintf("every label is class %s: there is nothing to learn", all[0]))
	case len(lost) > shown:
		notes = append(notes, fmt.Sprintf("classes without a training vertex are not learned: %d of %d: %s, …", len(lost), len(all), strings.Join(lost[:shown], ", ")))
	case len(lost) > 0:
		notes = append(notes, fmt.Sprintf("classes without a training vertex are not learned: %d of %d: %s", len(lost), len(all), strings.Join(lost, ", ")))
	}
	if drawn && len(all) > 1 && len(lost) > 0 {
		notes[len(notes)-1] += " (--split stratified:0.7,0.2,0.1 gives each one)"
	}
	return notes
}
