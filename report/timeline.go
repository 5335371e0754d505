package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"capgnn/internal/axis"
	"capgnn/internal/number"
)

// Trace is what the queues of devices did in an epoch: trace.json, as `train --trace` writes it.
type Trace struct {
	Name          string  // of the stretch, such as "epoch 3"
	Seconds, Kept float64 // how long it took; nothing is known of what began after Kept
	Lanes         []TraceLane
}

// TraceLane is what a queue did, in order and without overlap.
type TraceLane struct {
	Device, Queue string
	Spans         []TraceSpan
	number        int // of the device: several may have one name
}

// TraceSpan is an operation, in seconds from the beginning.
type TraceSpan struct {
	Kind       string // key of laneKinds
	Start, End float64
}

// waitKind is the kind of spans in which a queue does nothing.
const waitKind = "wait"

// laneKinds are the kinds of spans, in the order of the legend.
var laneKinds = []kind{{"aggregation", "aggregation", 0}, {"mm", "dense products", 2}, {"transfer", "transfer", 1}, {waitKind, "waiting", 4}, {"pick", "packing rows", 3},
	{"reduce", "reduction and update", 5}, {"other", "other", 7}}

// maxTraceBytes bounds trace.json.
const maxTraceBytes = 64 << 20

// ReadTrace reads trace.json. Events that lie outside the stretch are left out.
func ReadTrace(r io.Reader) (*Trace, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxTraceBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxTraceBytes {
		return nil, fmt.Errorf("larger than %d bytes: not what `capgnn train --trace` writes", maxTraceBytes)
	}
	var file struct {
		Events []struct {
			Name, Ph, Cat string
			Ts, Dur       float64 // microseconds
			PID, TID      int
			Args          struct{ Name string }
		} `json:"traceEvents"`
		Other struct {
			Seconds float64
			Kept    float64 `json:"kept_seconds"`
		} `json:"otherData"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	t := &Trace{Seconds: file.Other.Seconds, Kept: file.Other.Kept}
	if !(t.Seconds > 0 && t.Seconds <= largest && t.Kept >= 0 && t.Kept <= t.Seconds) {
		return nil, errors.New("it does not say how long the epoch took: not what `capgnn train --trace` writes")
	}
	devices, at := map[int]string{}, map[[2]int]int{}
	for _, e := range file.Events {
		queue := [2]int{e.PID, e.TID}
		switch {
		case e.PID == 0 && e.Ph == "X":
			t.Name = e.Name
		case e.Ph == "M" && e.Name == "process_name":
			devices[e.PID] = e.Args.Name
		case e.Ph == "M" && e.Name == "thread_name":
			if _, seen := at[queue]; !seen {
				at[queue] = len(t.Lanes)
				t.Lanes = append(t.Lanes, TraceLane{Device: devices[e.PID], Queue: e.Args.Name, number: e.PID})
			}
		case e.Ph == "X":
			s := TraceSpan{e.Cat, e.Ts / 1e6, (e.Ts + e.Dur) / 1e6}
			if k, known := at[queue]; known && s.Start >= 0 && s.End > s.Start && s.End <= t.Seconds*(1+1e-9) {
				t.Lanes[k].Spans = append(t.Lanes[k].Spans, s)
			}
		}
	}
	return t, nil
}

// timeline is a picture of lanes over time.
type timeline struct {
	ID, Title, Note string
	Lanes           []timelineLane
	Ticks           []axis.Tick // places in percent
	Legend          []lanePiece
	Data            []laneTimes
}

// timelineLane is a queue.
type timelineLane struct {
	Head   string // name of its device, for the first lane of each
	Name   string
	Text   string // how much of the time it worked
	Pieces []lanePiece
}

// lanePiece is all of one kind in a lane.
type lanePiece struct {
	Colour int
	Text   string
	Waits  bool
	Path   string // SVG path, laneUnits wide and laneHigh high
}

// laneTimes are the seconds of a lane by kind.
type laneTimes struct {
	Device string             `json:"device"`
	Queue  string             `json:"queue"`
	Spans  int                `json:"spans"`
	Times  map[string]float64 `json:"seconds"`
}

// Sizes of a lane in units of its picture, which stretches. What is shorter than a unit shares it.
const (
	laneUnits = 1000
	laneHigh  = 10
	maxLanes  = 64 // so many are drawn
)

// traceSection draws what the queues did.
func (r *Run) traceSection() (section, bool) {
	t := r.Trace
	if t == nil || len(t.Lanes) == 0 {
		return section{}, false
	}
	text := fmt.Sprintf("What the queues of each device did in %s, which took %s.", cmp.Or(t.Name, "an epoch"), written(seconds, t.Seconds))
	if t.Kept < t.Seconds {
		text += fmt.Sprintf(" Only the first %s were recorded.", written(seconds, t.Kept))
	}
	return sectionOf("Timeline", text, t.draw())
}

// draw draws the lanes.
func (t *Trace) draw() *timeline {
	out := &timeline{ID: "timeline", Title: "Queues over time", Note: "Operations that are too short to be seen alone share a place, which has the colour of the kind that takes most of it. Queues of one device work at the same time."}
	seen := map[string]bool{}
	for k, lane := range t.Lanes {
		if k == maxLanes {
			out.Note += fmt.Sprintf(" The first %d of %d queues are drawn.", maxLanes, len(t.Lanes))
			break
		}
		l := timelineLane{Name: lane.Queue}
		if k == 0 || lane.number != t.Lanes[k-1].number {
			l.Head = cmp.Or(lane.Device, "device")
		}
		times, numbers := map[string]float64{}, map[string]int{}
		busy := 0.0
		for i := range lane.Spans {
			s := &lane.Spans[i]
			key := laneKinds[laneKindOf(s.Kind)].key
			times[key], numbers[key] = times[key]+s.End-s.Start, numbers[key]+1
			if key != waitKind {
				busy += s.End - s.Start
			}
		}
		l.Text = "works " + written(share, busy/t.Seconds)
		for kind, path := range lane.paths(t.Seconds) {
			if what := laneKinds[kind]; numbers[what.key] > 0 {
				seen[what.key] = true
				l.Pieces = append(l.Pieces, lanePiece{what.colour, fmt.Sprintf("%s: %s in %s", what.name, written(seconds, times[what.key]), number.Counted(numbers[what.key], "operation")), what.key == waitKind, path})
			}
		}
		out.Lanes = append(out.Lanes, l)
		out.Data = append(out.Data, laneTimes{lane.Device, lane.Queue, len(lane.Spans), times})
	}
	for _, what := range laneKinds {
		if seen[what.key] {
			out.Legend = append(out.Legend, lanePiece{Text: what.name, Colour: what.colour, Waits: what.key == waitKind})
		}
	}
	out.Ticks = axis.Linear(0, t.Seconds, seconds, 5, false).Between(0, 100).Ticks
	return out
}

// laneKindOf returns the place of a kind in laneKinds, that of "other" for one that is not known.
func laneKindOf(key string) int {
	if k := slices.IndexFunc(laneKinds, func(k kind) bool { return k.key == key }); k >= 0 {
		return k
	}
	return len(laneKinds) - 1
}

// paths returns the rectangles of each kind. Spans of a unit or more are drawn as they are; of the others, those that begin in the same unit are drawn as one, as wide
// as they are together.
func (lane *TraceLane) paths(all float64) []string {
	paths := make([]strings.Builder, len(laneKinds))
	rect := func(kind int, x, wide float64) {
		fmt.Fprintf(&paths[kind], "M%.2f 0h%.2fv%dh-%.2fz", x, wide, laneHigh, wide)
	}
	type shared struct {
		from float64
		by   []float64
	}
	var bins [laneUnits + 1]*shared
	for _, s := range lane.Spans {
		x, wide := s.Start/all*laneUnits, (s.End-s.Start)/all*laneUnits
		kind := laneKindOf(s.Kind)
		if wide >= 1 {
			rect(kind, x, wide)
			continue
		}
		b := &bins[min(laneUnits, int(x))]
		if *b == nil {
			*b = &shared{x, make([]float64, len(laneKinds))}
		}
		(*b).by[kind] += wide
	}
	for _, b := range bins {
		if b != nil {
			most, sum := 0, 0.0
			for kind, wide := range b.by {
				if sum += wide; wide > b.by[most] {
					most = kind
				}
			}
			rect(most, b.from, max(sum, 0.05))
		}
	}
	out := make([]string, len(paths))
	for i := range paths {
		out[i] = paths[i].String()
	}
	return out
}
