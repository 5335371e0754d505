package datasets

import (
	"fmt"
	"strconv"
	"strings"
)

// LabelNotes says of which labels nothing can be learnt, and how many vertices of the sets count for nothing.
func (in *Input) LabelNotes() (notes []string) {
	p, names := in.Problem, in.Names.Classes
	if p.Labels == nil || p.Shards != nil {
		return nil
	}
	used, trained := make([]bool, p.Classes), make([]bool, p.Classes)
	var without []string
	for k, mask := range [][]bool{p.Train, p.Val, p.Test} {
		all, none := 0, 0
		for v, has := range mask {
			switch y := p.Labels[v]; {
			case !has:
				continue
			case y < 0:
				none++
			case k == 0:
				trained[y] = true
			}
			all++
		}
		if none > 0 {
			set := [3]string{"training", "validation", "test"}[k]
			without = append(without, fmt.Sprintf("%d of %d %s vertices", none, all, set))
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
	if len(all) == 1 {
		return append(notes, fmt.Sprintf("every label is class %s: there is nothing to learn", all[0]))
	}
	if len(lost) == 0 {
		return notes
	}
	const shown = 8
	text := strings.Join(lost[:min(shown, len(lost))], ", ")
	if len(lost) > shown {
		text += ", …"
	}
	if in.Drawn {
		text += " (--split stratified:0.7,0.2,0.1 gives each one)"
	}
	return append(notes, fmt.Sprintf("classes without a training vertex are not learned: %d of %d: %s",
		len(lost), len(all), text))
}
