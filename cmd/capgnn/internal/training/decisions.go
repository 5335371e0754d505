package training

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/graph"
	"capgnn/profiler"
	"capgnn/rapa"
)

// Decisions are the settings of a run, in which steps settle what the user has left open, and what these only name:
// config.yaml records them. A decider gets them by value and returns them with what it has decided.
type Decisions struct {
	Config runfolder.Config
	Parts  int
	// partsOpen: nobody has said how many parts there are. streams: those of a device take turns on it.
	partsOpen, streams bool

	Plan     *rapa.Plan               // nil with one part
	Profile  *profiler.Profile        // of the devices, nil where nothing had to be known of them
	Aging    *runfolder.StaleForecast // why some layers may read stale halo rows; nil: not decided by a forecast
	shares   []float64                // of the roots of a step of sampled training, by part; nil: equal ones
	rank     []int32                  // place of every vertex in the order of the parts' rows, nil = by number
	arranged arrangement
}

// Workers returns how many parts train at a time.
func (d *Decisions) Workers() int { return d.Config.WorkersOf(d.Parts) }

// parts returns the part of each of n vertices, and which replicas are left out.
func (d *Decisions) parts(n int) ([]int32, [][]graph.NodeID) {
	if d.Plan == nil {
		return make([]int32, n), nil
	}
	return d.Plan.Part, d.Plan.Dropped
}

// settleAging records the choice of a forecast.
func (d *Decisions) settleAging(f *runfolder.StaleForecast) {
	d.Aging = f
	d.Config.Set(runfolder.CacheLayers, runfolder.FormatLayers(f.Layers))
}

// forgetAging leaves it open again which layers may read stale halo rows, if a forecast decided it.
func (d *Decisions) forgetAging() {
	if d.Aging != nil {
		d.Aging = nil
		d.Config.Set(runfolder.CacheLayers, runfolder.FormatLayers(nil))
	}
}

// open returns decisions in which everything that depends on devices is open again.
func (d *Decisions) open() Decisions {
	o := Decisions{Config: d.Config, Aging: d.Aging, rank: d.rank}
	o.Config.Plan, o.Config.PlanKey, o.Config.Targets = "", "", ""
	o.Config.Set("cache-slots", "")
	o.Config.Set("cache-links", "")
	o.forgetAging()
	return o
}

// settleSampled settles what sampled training takes from the data: fan-outs. Vertices stay in the order of the data
// set.
func (d *Decisions) settleSampled(sparse bool) {
	if d.Config.Sampled() {
		d.Config.Order = runfolder.OrderNone
		d.Config.SettleFanout(sparse)
	}
}

// identity is everything that decides the bits of a run, as JSON: settings by their names, among them the sum of the data,
// and the plan. devices are those that it began with, which others may continue; "": they are the same.
func (d *Decisions) identity(devices string) string {
	cfg := d.Config
	cfg.Dataset, cfg.DatasetPath, cfg.CheckpointEvery, cfg.Profile, cfg.Plan = "", "", runfolder.Cadence{}, "", ""
	cfg.Epochs, cfg.BegunEpochs = cmp.Or(cfg.BegunEpochs, cfg.Epochs), 0
	cfg.Devices = cmp.Or(devices, cfg.Devices)
	if d.Plan != nil {
		cfg.PlanKey = d.Plan.Key
	}
	decides := map[string]string{}
	for _, o := range runfolder.Options {
		if text, does := o.Identity(&cfg); does {
			decides[o.Name] = text
		}
	}
	text, err := json.Marshal(decides)
	if err != nil {
		panic(err) // strings are always written
	}
	return string(text)
}

// changes says in parentheses which settings of a run are not those of the identity was, with both values; "" where none
// is. Those that only files have, which follow from others, are named where they alone differ.
func (d *Decisions) changes(was, devices string) string {
	var before, now map[string]string
	if json.Unmarshal([]byte(was), &before) != nil || json.Unmarshal([]byte(d.identity(devices)), &now) != nil {
		return ""
	}
	var set, recorded []string
	for _, o := range runfolder.Options {
		switch said := fmt.Sprintf(" is %s, and was %s", cmp.Or(now[o.Name], "empty"), cmp.Or(before[o.Name], "empty")); {
		case now[o.Name] == before[o.Name]:
		case o.Name == "epochs" && d.Config.BegunEpochs > 0: // those of before --resume made the run longer
			set = append(set, "begun-epochs"+said)
		case o.FileOnly:
			recorded = append(recorded, o.Name+said)
		default:
			set = append(set, runfolder.Label(o.Name)+said)
		}
	}
	if set == nil {
		set = recorded
	}
	if set == nil {
		return ""
	}
	return " (" + strings.Join(set, ", ") + ")"
}

// metadata is what a file of weights says about itself.
func (d *Decisions) metadata(data string, epoch int) map[string]string {
	m := map[string]string{"format": "pt", "model": d.Config.ModelName(), "dataset": data, "epoch": fmt.Sprint(epoch)}
	maps.Copy(m, d.Config.Unseen())
	return m
}
