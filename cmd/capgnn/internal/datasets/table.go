package datasets

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/internal/number"
)

// Print writes the table of `data info`.
func (i *Info) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "data set\t%s\n", i.Name)
	fmt.Fprintf(t, "path\t%s  (%s)\n", i.Path, i.Format)
	if i.Files != nil {
		fmt.Fprintf(t, "files read\t%s\n", strings.Join(i.Files, ", "))
	}
	for _, u := range i.Unread {
		fmt.Fprintf(t, "not read\t%s\n", u)
	}
	fmt.Fprintf(t, "vertices\t%s  (%s isolated)\n", term.Grouped(int64(i.Vertices)), term.Grouped(int64(i.Isolated)))
	symmetric := "symmetric"
	if !i.Symmetric {
		symmetric = "not symmetric"
	}
	fmt.Fprintf(t, "edges\t%s directed, %s of them loops; %s\n", term.Grouped(i.Edges), term.Grouped(i.Loops), symmetric)
	if w := i.Weights; w != nil {
		same := "equal in both directions"
		if !w.Symmetric {
			same = "not equal in both directions"
		}
		if !i.Symmetric {
			same += " where both are there"
		}
		plain := number.Plain.Text
		fmt.Fprintf(t, "edge weights\t%s to %s, mean %s; %s\n", plain(float64(w.Min)), plain(float64(w.Max)), plain(w.Mean), same)
	}
	i.InDegree.print(t, "in-degree")
	if !i.Symmetric {
		i.OutDegree.print(t, "out-degree")
	}
	switch f := i.Features; {
	case f == nil:
		fmt.Fprintf(t, "features\tnone\n")
	default:
		kind := "dense"
		if f.Sparse {
			kind = "sparse"
		}
		fmt.Fprintf(t, "features\t%s, %s; %s values other than 0 (%s)\n", term.Counted(f.Columns, "column"), kind, term.Grouped(f.Nonzeros), term.Percentage(f.Density))
	}
	i.Labels.print(t)
	fmt.Fprintf(t, "splits\ttraining %s  validation %s  test %s\n", splitSize(i.Splits.Train, i.Vertices), splitSize(i.Splits.Val, i.Vertices), splitSize(i.Splits.Test, i.Vertices))
	if s := i.Splits; s.Train == nil && s.Val == nil && s.Test == nil {
		fmt.Fprintf(t, "\tnone in the files: training draws them by --split and --seed\n")
	}
	if i.Splits.Stored > 0 {
		fmt.Fprintf(t, "\tone of %d in the file: --split 0 to %d\n", i.Splits.Stored, i.Splits.Stored-1)
	}
	if i.Homophily != nil {
		what := "share of edges whose ends are of one class"
		if i.Labels.Multi {
			what = "mean Jaccard index of the classes of an edge's ends"
		}
		fmt.Fprintf(t, "edge homophily\t%s  (%s)\n", number.Score.Text(*i.Homophily), what)
	}
	return t.Flush()
}

// String says what would be read in place of the file.
func (u unread) String() string {
	if u.Looks == dataset.LooksData {
		return u.Name
	}
	return fmt.Sprintf("%s, by its name %s: %s", u.Name, u.Looks, u.Wanted)
}

func (d Degrees) print(t io.Writer, title string) {
	fmt.Fprintf(t, "%s\tmin %s  median %s  mean %s  p90 %s  p99 %s  max %s\n", title, term.Grouped(d.Min), term.Grouped(d.Median), number.Ratio.Text(d.Mean), term.Grouped(d.P90), term.Grouped(d.P99), term.Grouped(d.Max))
	largest := 1
	for _, n := range d.Log2 {
		largest = max(largest, n)
	}
	for b, n := range d.Log2 {
		from, to := 1<<b>>1, 1<<b-1
		label := fmt.Sprintf("%d–%d", from, to)
		if from == to || b == 0 {
			label = fmt.Sprint(from)
		}
		fmt.Fprintf(t, "  %s\t%s %s\n", label, strings.Repeat("#", (n*40+largest-1)/largest), term.Grouped(int64(n)))
	}
}

// shownClasses is the largest number of classes that stand in lines of their own.
const shownClasses = 40

func (l *labelInfo) print(t io.Writer) {
	if l == nil {
		fmt.Fprintf(t, "classes\tnone\n")
		return
	}
	kind := "one per vertex"
	if l.Multi {
		kind = "several per vertex"
	}
	fmt.Fprintf(t, "classes\t%d, %s; %s without\n", l.Classes, kind, term.Counted(l.Unlabelled, "vertex"))
	if l.Names != nil && len(l.Sizes) <= shownClasses {
		for c, n := range l.Sizes {
			term.Row(t, "  "+l.Names[c], term.Grouped(n))
		}
		return
	}
	const perLine = 12
	for c := 0; c < len(l.Sizes); c += perLine {
		title := ""
		if c == 0 {
			title = "  their sizes"
		}
		fmt.Fprintf(t, "%s\t%s\n", title, strings.Trim(fmt.Sprint(l.Sizes[c:min(c+perLine, len(l.Sizes))]), "[]"))
	}
}

func splitSize(n *int, vertices int) string {
	if n == nil {
		return number.Missing
	}
	return fmt.Sprintf("%s (%s)", term.Grouped(int64(*n)), term.Percentage(float64(*n)/float64(vertices)))
}
