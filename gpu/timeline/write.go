package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// event is one of the Trace Event Format. Times are in microseconds.
type event struct {
	Name  string         `json:"name"`
	Kind  string         `json:"ph"`
	Phase string         `json:"cat,omitempty"`
	Start *float64       `json:"ts,omitempty"`
	Long  *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// Write writes the trace: process 0 has the whole stretch, called by the title, process k+1 is device k, and its threads are queues.
func (t *Timeline) Write(w io.Writer, title string) error {
	out := bufio.NewWriter(w)
	head, err := json.Marshal(map[string]float64{"seconds": t.Duration.Seconds(), "kept_seconds": t.Kept.Seconds()})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `{"displayTimeUnit":"ms","otherData":%s,"traceEvents":[`, head)
	events := []event{{Name: "process_name", Kind: "M", Args: map[string]any{"name": title}}, span(title, "", 0, t.Duration, 0, 0)}
	for k, name := range t.Devices {
		events = append(events, event{Name: "process_name", Kind: "M", PID: k + 1, Args: map[string]any{"name": name}})
	}
	for i, lane := range t.Lanes {
		events = append(events, event{Name: "thread_name", Kind: "M", PID: lane.Device + 1, TID: i + 1, Args: map[string]any{"name": lane.Queue}})
	}
	for i, lane := range t.Lanes {
		for _, s := range lane.Spans {
			e := span(s.Op, s.Phase.String(), s.Start, s.End-s.Start, lane.Device+1, i+1)
			if s.Bytes > 0 {
				e.Args = map[string]any{"bytes": s.Bytes}
			}
			events = append(events, e)
		}
	}
	for i, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n%s", line)
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// span is a complete event.
func span(name, phase string, start, long time.Duration, pid, tid int) event {
	from, took := micro(start), micro(long)
	return event{Name: name, Kind: "X", Phase: phase, Start: &from, Long: &took, PID: pid, TID: tid}
}

// micro returns microseconds, to the nanosecond.
func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
