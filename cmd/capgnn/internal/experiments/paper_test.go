package experiments

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/bench"
	"capgnn/jaca"
)

// paperRun is what the paper runs for a table or a figure, or what we run besides: every data set with every model, cards and system. "" stands for whatever there is.
type paperRun struct{ experiment, where, datasets, models, cards, systems string }

// x2 to x8 are the groups of the paper's Table 4, in the labels of its Table 3, in which T4 is the Tesla A40.
const (
	x2 = "R9 R9"
	x3 = x2 + " T4"
	x4 = x3 + " T4"
	x5 = x4 + " R6"
	x6 = x5 + " R6"
	x7 = x6 + " G6"
	x8 = x7 + " G6"
	// four are the paper's four RTX 3090.
	four   = "R9 R9 R9 R9"
	levels = "encoded,stale"
)

// paperRuns are the facts of the paper that experiments are held to, in the labels of its tables.
var paperRuns = []paperRun{
	{"table1", "Table 1", "", "", "R9,T4,R6,RTX 2060,G6,GTX 1650", ""}, {"table1", "ours", "", "", "CPU", ""},
	{"halo", "Fig. 4-6", "Fr,Yp,Rt,Tolokers", "", "", "METIS 1,METIS 2,Random 1,Random 2"},
	{"hit-priority", "Fig. 14", "Rt", "gcn,sage", "2,3,4,5,6,7,8", "high overlap 20%,low overlap 20%"}, {"hit-priority", "ours", "Cs", "", "", ""},
	{"hit-capacity", "Fig. 15", "", "gcn,sage", "2,4", "jaca,fifo,lru"}, {"hit-capacity", "ours", "", "", "", "high overlap"},
	{"epoch-capacity", "Fig. 16", "Rt", "gcn,sage", "R9 R9,R9 R9 R9," + four, "Vanilla,+JACA"}, {"epoch-capacity", "Fig. 16", "Rt", "gcn,sage", "2,3,4", "fifo,lru"}, {"epoch-capacity", "ours", "Os", "", "", ""},
	{"overhead", "Fig. 19", "Rt", "gcn", "", "Vanilla,+JACA"}, {"overhead", "ours", "Cs", "", "", ""},
	{"rapa", "Fig. 20", "", "gcn", x2 + "," + x3 + "," + x4 + "," + x5, "RAPA"}, {"rapa", "ours", "", "", "", "+RAPA"},
	{"hetero", "Fig. 21", "Rt", "gcn", "R9 R9,T4 R9,G6 R9,T4 T4 R9 R9,G6 G6 R9 R9,T4 T4 G6 G6", "Vanilla,CaPGNN"}, {"hetero", "ours", "", "", "", "+RAPA"},
	{"convergence", "Fig. 22", "Rt,Os", "gcn,sage", x2 + "," + x4, "Vanilla,CaPGNN"}, {"convergence", "ours", "", "", "", "+RAPA,+JACA +RAPA," + levels},
	{"overall", "Table 7", "Cl,Fr,Cs,Rt,Yp,As,Os", "gcn,sage", strings.Join([]string{x2, x3, x4, x5, x6, x7, x8}, ","), "Vanilla,CaPGNN"},
	{"overall", "Table 7", "Cl,Fr,Cs,Rt,Yp,As,Os", "gcn", strings.Join([]string{x2, x3, x4, x5, x6, x7, x8}, ","), "DistGCN,CachedGCN"}, {"overall", "ours", "", "", "", levels},
	{"ablation", "Table 8", "Cl,Fr,Cs,Rt,Yp,As,Os", "gcn,sage", x4, "Vanilla,+JACA,+RAPA,+JACA +RAPA,CaPGNN"}, {"ablation", "ours", "", "", "", levels},
	{"cluster", "Table 9", "As,Os", "gcn,sage", x4 + ",R9 R9 | R9 R9," + x4 + " | " + four, "CaPGNN"},
	{"cluster", "ours", "", "", strings.Join([]string{four, four + " | " + four, strings.Repeat(four+" | ", 3) + four, strings.Repeat(four+" | ", 7) + four, "CPU CPU"}, ","), "Vanilla,+RAPA,encoded,stale,isolated"},
}

// labels are the paper's names of data sets (Table 5) and cards (Table 3).
var labels = map[string]string{
	"corafull-like": "Cl", "flickr-like": "Fr", "coauthor_physics": "Cs", "reddit-like": "Rt", "yelp-like": "Yp", "amazonproducts-like": "As", "products-like": "Os", "tolokers": "Tolokers",
	"sim:rtx3090": "R9", "sim:a40": "T4", "sim:rtx3060": "R6", "sim:gtx1660ti": "G6", "sim:rtx2060": "RTX 2060", "sim:gtx1650": "GTX 1650",
}

// cardsOf returns the cards of a cell: by machine, or where nothing depends on which they are, their number.
func cardsOf(c bench.Cell) string {
	var list []string
	for spec := range strings.FieldsFuncSeq(c["devices"]+c["device"], func(r rune) bool { return r == ',' }) {
		switch {
		case strings.HasPrefix(spec, "sim:"):
			list = append(list, labels[spec])
		case strings.HasPrefix(spec, "cpu"):
			list = append(list, "CPU")
		}
	}
	if c["kind"] == kindReplay {
		return fmt.Sprint(len(list))
	}
	_, sizes, found := strings.Cut(c["more"], "machines=")
	if !found {
		return strings.Join(list, " ")
	}
	var machines []string
	sizes, _, _ = strings.Cut(sizes, ",net=")
	for size := range strings.SplitSeq(sizes, ",") {
		n := 0
		fmt.Sscan(size, &n)
		machines, list = append(machines, strings.Join(list[:n], " ")), list[n:]
	}
	return strings.Join(machines, " | ")
}

// systemOf returns what the paper's tables call a setting of ours.
func systemOf(experiment string, c bench.Cell) string {
	policy, sizes, _ := strings.Cut(c["cache"], " ")
	switch {
	case c["kind"] == "halo":
		return map[string]string{"multilevel": "METIS", "random": "Random"}[c["method"]] + " " + c["hops"]
	case c["kind"] == kindReplay:
		name := policy
		if i := slices.Index([]jaca.Policy{jaca.Paper, jaca.LowOverlap}, jaca.Policy(policy)); i >= 0 {
			name = []string{"high overlap", "low overlap"}[i]
		}
		if experiment == "hit-priority" && sizes == "local=20% global=20%" {
			name += " 20%"
		}
		return name
	case c["kind"] == kindBroadcast:
		return c["system"]
	case c["comm"] != "":
		return c["comm"]
	case strings.Contains(c["more"], "isolated="):
		return "isolated"
	}
	parts := map[string]string{partsEqual: "", partsFitted: " +RAPA", partsPruned: "RAPA"}[c["parts"]]
	switch aged := policy == string(jaca.JACA) && c["staleness"] != ""; {
	case aged && parts == " +RAPA" && c["pipeline"] != "":
		return "CaPGNN"
	case aged && c["pipeline"] == "":
		return "+JACA" + parts
	case policy == "" && c["pipeline"] == "":
		return map[string]string{"": "Vanilla"}[parts] + strings.TrimSpace(parts)
	}
	return "none of the paper's: " + c.Key()
}

func listed(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// said are the data sets, models, cards and systems that an experiment is said to run; none: whatever there is.
func said(experiment string) (all [4][]string, found bool) {
	for _, p := range paperRuns {
		if p.experiment == experiment {
			found = true
			for i, list := range []string{p.datasets, p.models, p.cards, p.systems} {
				all[i] = append(all[i], listed(list)...)
			}
		}
	}
	return all, found
}

// each calls f for every run.
func (p paperRun) each(f func(key [4]string)) {
	for data := range strings.SplitSeq(p.datasets, ",") {
		for model := range strings.SplitSeq(p.models, ",") {
			for cards := range strings.SplitSeq(p.cards, ",") {
				for system := range strings.SplitSeq(p.systems, ",") {
					f([4]string{data, model, cards, system})
				}
			}
		}
	}
}

// Experiments run what the paper runs, on its cards, and what they run besides is said.
func TestPaperRuns(t *testing.T) {
	for _, e := range All() {
		names, found := said(e.Name)
		if !found {
			continue // of another paper, or ours
		}
		b, _ := quiet(Options{Seeds: []uint64{1}})
		cells, _, err := e.plan(b, e.full)
		if err != nil {
			t.Fatal(err)
		}
		run := map[[4]string]bool{}
		for _, c := range cells {
			data, _, _ := strings.Cut(c.id["dataset"], ":")
			key := [4]string{labels[data], c.id["model"], cardsOf(c.id), systemOf(e.Name, c.id)}
			for i, x := range key {
				switch {
				case len(names[i]) == 0:
					key[i] = ""
				case !slices.Contains(names[i], x):
					t.Errorf("%s: %q is neither the paper's nor said to be ours: %q", e.Name, x, names[i])
				}
			}
			run[key] = true
		}
		for _, p := range paperRuns {
			if p.experiment == e.Name && p.where != "ours" {
				p.each(func(key [4]string) {
					if !run[key] {
						t.Errorf("%s: %s has %q, which is not run", e.Name, p.where, key)
					}
				})
			}
		}
	}
}

// docs/paper.md names experiments that are there, and each that repeats something of a paper.
func TestCoverageNamesExperiments(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/paper.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`bench ([a-z0-9-]+)( --ranks [0-9]+)?`").FindAllStringSubmatch(string(text), -1) {
		if named[m[1]] = true; m[2] != "" && !OverRanks(m[1]) {
			t.Errorf("bench %s does not train over ranks", m[1])
		}
	}
	for _, e := range All() {
		of := strings.Contains(e.Usage, "Fig.") || strings.Contains(e.Usage, "Table")
		if of && !named[e.Name] && e.Name != "scaling" {
			t.Errorf("bench %s (%s) is not named", e.Name, e.Usage)
		}
		delete(named, e.Name)
	}
	if len(named) > 0 {
		t.Errorf("no experiments: %v", named)
	}
}
