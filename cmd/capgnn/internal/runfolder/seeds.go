package runfolder

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/regular"
	"capgnn/internal/shell"
	"capgnn/report"
)

// mostSeeds bounds the runs of a folder.
const mostSeeds = 1000

// ParseSeeds reads a list of seeds and of ranges of them, such as 1-10 or 1,3,7-9.
func ParseSeeds(text string) ([]uint64, error) {
	var seeds []uint64
	seen := map[uint64]bool{}
	for item := range strings.SplitSeq(text, ",") {
		first, last, several := strings.Cut(strings.TrimSpace(item), "-")
		lo, err := strconv.ParseUint(first, 10, 64)
		hi := lo
		if several && err == nil {
			hi, err = strconv.ParseUint(last, 10, 64)
		}
		switch {
		case err != nil || hi < lo:
			return nil, fmt.Errorf("%q is not a seed, nor a range of them such as 1-10", strings.TrimSpace(item))
		case hi-lo >= mostSeeds || len(seeds)+int(hi-lo) >= mostSeeds:
			return nil, fmt.Errorf("more than %d seeds", mostSeeds)
		}
		for k := range hi - lo + 1 {
			if seen[lo+k] {
				return nil, fmt.Errorf("seed %d is said twice", lo+k)
			}
			seen[lo+k] = true
			seeds = append(seeds, lo+k)
		}
	}
	return seeds, nil
}

// SeedsDir is a folder of runs that differ in their seeds. seeds.json is its mark.
type SeedsDir string

// Seeds are the runs of a folder: what --seeds says, and the settings of all.
type Seeds struct {
	Seeds  []uint64 `json:"seeds"`
	Config string   `json:"config"` // as FormatConfig has it
	// Data identifies the data set of all, but for what each draws by its seed; "": none has read it yet.
	Data string `json:"data,omitempty"`
}

func (d SeedsDir) plan() string { return filepath.Join(string(d), "seeds.json") }

// Report is the page about all runs.
func (d SeedsDir) Report() string { return filepath.Join(string(d), "report.html") }

// Lock is the file that a process holds as long as it trains the runs.
func (d SeedsDir) Lock() string { return filepath.Join(string(d), "lock") }

// Run is the folder of the run of a seed.
func (d SeedsDir) Run(seed uint64) Dir {
	return Dir(filepath.Join(string(d), fmt.Sprintf("seed-%d", seed)))
}

// HoldsSeeds reports whether the folder holds runs of several seeds.
func (d SeedsDir) HoldsSeeds() bool { return term.Exists(d.plan()) }

// Write writes what the runs are.
func (d SeedsDir) Write(s *Seeds) error { return d.write(d.plan(), s) }

// Remove takes from a folder what Write has written.
func (d SeedsDir) Remove() { _ = os.Remove(d.plan()) } // what stays says that runs are to begin

// WriteSummary writes summary.json.
func (d SeedsDir) WriteSummary(s *Summary) error {
	return d.write(filepath.Join(string(d), "summary.json"), s)
}

func (d SeedsDir) write(path string, x any) error {
	data, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return fmt.Errorf("format %s: %w", path, err)
	}
	return term.WriteFile(path, append(data, '\n'))
}

// Read returns what Write has written, and the settings in it.
func (d SeedsDir) Read() (*Seeds, *Config, error) {
	f, err := regular.Open(d.plan())
	if err != nil {
		return nil, nil, term.AsUsage(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 2*maxConfigBytes))
	s, cfg := new(Seeds), Default()
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err == nil {
		err = parseWhole([]byte(s.Config), &cfg)
	}
	if err == nil && cfg.ModelFile() {
		path := cfg.Model
		for _, seed := range s.Seeds {
			if kept := d.Run(seed).Model(); term.Exists(kept) {
				path = kept
			}
		}
		if err := cfg.readModel(path); err != nil {
			return nil, nil, err
		}
	}
	if err == nil && (len(s.Seeds) == 0 || len(s.Seeds) > mostSeeds) {
		err = fmt.Errorf("it has %d seeds", len(s.Seeds))
	}
	if err != nil {
		return nil, nil, term.Usagef("read %s: %w", d.plan(), err)
	}
	return s, &cfg, nil
}

// Spread is what runs that differ in their seeds have of a number.
type Spread struct {
	Runs      int      `json:"runs"`      // that have the number
	Mean      *float64 `json:"mean"`      // null: none has
	Deviation *float64 `json:"deviation"` // of the sample, with n − 1; null below two runs
	// Interval is that in which the mean of all seeds lies with 95 % confidence, by Student's t, that of a score within [0, 1]; null below two runs.
	Interval *[2]float64 `json:"interval"`
	Min      *float64    `json:"min"`
	Max      *float64    `json:"max"`
}

// SpreadOf returns that of some numbers.
func SpreadOf(values []float64) Spread {
	n := len(values)
	s := Spread{Runs: n}
	if n == 0 {
		return s
	}
	mean, least, most, squares := floats.SumCompensated(values)/float64(n), slices.Min(values), slices.Max(values), 0.0
	for _, x := range values {
		squares += (x - mean) * (x - mean)
	}
	s.Mean, s.Min, s.Max = &mean, &least, &most
	if n > 1 {
		deviation := math.Sqrt(squares / float64(n-1))
		half := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) * deviation / math.Sqrt(float64(n))
		s.Deviation, s.Interval = &deviation, &[2]float64{mean - half, mean + half}
	}
	return s
}

// Summary is what `train --seeds --json` prints as its last line and summary.json holds.
type Summary struct {
	Dataset   string   `json:"dataset"`
	Model     string   `json:"model"`
	Metric    string   `json:"metric"`
	Of        string   `json:"positive,omitempty"`  // class of which Metric is, of two
	Estimated bool     `json:"estimated,omitempty"` // scores are of samples of neighbours
	Seeds     []uint64 `json:"seeds"`
	Train     Spread   `json:"train"` // of the results' keys
	Val       Spread   `json:"val"`
	Test      Spread   `json:"test"`
	Last      Spread   `json:"test_last"`
	Loss      Spread   `json:"final_loss"`
	Best      Spread   `json:"best_epoch"`
	Epochs    Spread   `json:"epochs"`
	EpochS    Spread   `json:"epoch_s"` // median epochs
	Runs      []string `json:"runs"`    // folders
	Dir       string   `json:"dir"`
}

// Ended reports whether the runs of all seeds have a result.
func (d SeedsDir) Ended(seeds []uint64) bool {
	return !slices.ContainsFunc(seeds, func(seed uint64) bool { return !term.Exists(d.Run(seed).result()) })
}

// Summarise returns that of the results of runs, by seed.
func (d SeedsDir) Summarise(seeds []uint64, results []*Result) *Summary {
	first := results[0]
	s := &Summary{Dataset: first.Dataset, Model: first.Model, Metric: first.Metric, Of: first.Positive, Estimated: first.Estimated, Seeds: seeds, Dir: string(d)}
	of := func(get func(r *Result) *float64) Spread {
		var values []float64
		for _, r := range results {
			if x := get(r); x != nil && !math.IsNaN(*x) {
				values = append(values, *x)
			}
		}
		return SpreadOf(values)
	}
	score := func(get func(r *Result) *float64) Spread { // which is in [0, 1]
		spread := of(get)
		if i := spread.Interval; i != nil {
			i[0], i[1] = max(0, i[0]), min(1, i[1])
		}
		return spread
	}
	number := func(x float64) *float64 { return &x }
	s.Train, s.Val = score(func(r *Result) *float64 { return r.Train }), score(func(r *Result) *float64 { return r.Val })
	s.Test, s.Last = score(func(r *Result) *float64 { return r.Test }), score(func(r *Result) *float64 { return r.TestLast })
	s.Loss = of(func(r *Result) *float64 { return number(float64(r.FinalLoss)) })
	s.Best = of(func(r *Result) *float64 {
		if r.BestEpoch == nil {
			return nil
		}
		return number(float64(*r.BestEpoch))
	})
	s.Epochs, s.EpochS = of(func(r *Result) *float64 { return number(float64(r.Epochs)) }), of(func(r *Result) *float64 { return r.EpochS.Median })
	for _, seed := range seeds {
		s.Runs = append(s.Runs, string(d.Run(seed)))
	}
	return s
}

// text writes the spread of a score over so many seeds.
func (s Spread) text(seeds int) string {
	text := term.Score(s.Mean)
	if s.Deviation != nil {
		text += fmt.Sprintf(" ± %s (interval of the mean: %s to %s)", term.Score(s.Deviation), term.Score(&s.Interval[0]), term.Score(&s.Interval[1]))
	}
	if s.Runs > 0 && s.Runs < seeds {
		text += fmt.Sprintf(", from %d of %d seeds: the others have no score", s.Runs, seeds)
	}
	return text
}

// facts are the lines about all runs.
func (s *Summary) facts() []report.Fact {
	score := scoreName(s.Metric, s.Of, s.Estimated)
	return []report.Fact{{Name: "validation " + score, Text: s.Val.text(len(s.Seeds))}, {Name: "test " + score, Text: s.Test.text(len(s.Seeds))}, {Name: "test at the end", Text: s.Last.text(len(s.Seeds))},
		{Name: "deviations", Text: "of single runs; intervals have 95 % confidence"}}
}

// Print writes the summary: one JSON line, or a small table.
func (s *Summary) Print(k *term.Console, page string) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(s)
	}
	t := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	term.Row(t, "dataset", s.Dataset)
	term.Row(t, "model", s.Model)
	term.Row(t, "seeds", term.Counted(len(s.Seeds), "run"))
	for _, f := range s.facts() {
		term.Row(t, f.Name, f.Text)
	}
	term.Row(t, "run folders", fmt.Sprintf("%s (%s in it is for a browser)", s.Dir, filepath.Base(page)))
	return t.Flush()
}

// Describe returns the runs that have begun, and what those that have ended have together.
func (d SeedsDir) Describe() (runs []report.Run, together []report.Fact, err error) {
	s, _, err := d.Read()
	if err != nil {
		return nil, nil, err
	}
	var results []*Result
	for _, seed := range s.Seeds {
		if !d.Run(seed).HoldsRun() {
			continue
		}
		run, err := d.Run(seed).Describe()
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, run)
		if r, err := d.Run(seed).ReadResult(); err != nil {
			return nil, nil, err
		} else if r != nil {
			results = append(results, r)
		}
	}
	if len(runs) == 0 {
		return nil, nil, term.Usagef("report: no run in %s has begun: train them with `capgnn train --resume %s`", d, shell.Word(d))
	}
	if len(results) > 0 {
		together = d.Summarise(s.Seeds, results).facts()
	}
	return runs, together, nil
}

// Free refuses a folder that holds runs of several seeds, or what Dir.Free refuses.
func (d SeedsDir) Free(overwrite bool) error {
	err := Dir(d).Free(overwrite) // first: runs that have begun meanwhile are some
	if d.HoldsSeeds() {
		return term.Usagef("--run-dir %s already holds runs of several seeds: continue them with --resume %s or choose another folder", d, shell.Word(d))
	}
	return err
}

// Stranger returns the setting of data, model or training in which a run differs from what all runs of a folder have,
// "" if there is none. Epochs may be more, and runs settle where they find data and what they train on.
func Stranger(run, all *Config, seed uint64) string {
	for _, o := range Options {
		own := o.Group == GroupData || o.Group == GroupModel || o.Group == GroupTraining && o.Name != "epochs"
		if own && !o.FileOnly && o.Name != "seed" && o.Value(run) != o.Value(all) {
			return Label(o.Name)
		}
	}
	if run.Seed != seed {
		return Label("seed")
	}
	return ""
}
