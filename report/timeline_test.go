package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// traceText returns a trace of so many queues with hostile names, each with so many operations that follow each other, for a second.
func traceText(queues, spans int) string {
	draw := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	b.WriteString(`{"otherData":{"seconds":1,"kept_seconds":1},"traceEvents":[{"name":"epoch <3>","ph":"X","ts":0,"dur":1e6,"pid":0,"tid":0}`)
	for q := range queues {
		fmt.Fprintf(&b, `,{"name":"process_name","ph":"M","pid":%d,"args":{"name":"cpu:<b>%d"}},{"name":"thread_name","ph":"M","pid":%d,"tid":%d,"args":{"name":"</script>%d"}}`, q/4+1, q/4, q/4+1, q, q)
		at := 0.0
		for i := range spans {
			long := draw.Float64() * 2e6 / float64(spans) * 0.9
			at += draw.Float64() * 1e5 / float64(spans)
			if at+long > 1e6 {
				break
			}
			fmt.Fprintf(&b, `,{"name":"op","ph":"X","cat":%q,"ts":%.3f,"dur":%.3f,"pid":%d,"tid":%d}`, append(laneKinds, kind{key: "new"})[i%(len(laneKinds)+1)].key, at, long, q/4+1, q)
			at += long
		}
	}
	return b.String() + "]}"
}

func traceRun(t testing.TB, queues, spans int) Run {
	t.Helper()
	r := sampleRun(t, 12, false)
	var err error
	if r.Trace, err = ReadTrace(strings.NewReader(traceText(queues, spans))); err != nil {
		t.Fatal(err)
	}
	return r
}

// Of few operations each is a rectangle at its place; of very many the picture stays small, and rectangles of a lane do not overlap and are together as long as the operations.
func TestTimeline(t *testing.T) {
	for _, spans := range []int{1, 5, 300, 20000} {
		r := traceRun(t, 6, spans)
		p := pageOf(t, r)
		f := p.figures["timeline"]
		var data []laneTimes
		if err := json.Unmarshal(f.data, &data); err != nil || len(data) != 6 || f.kind != "data-timeline" {
			t.Fatalf("%d spans: %d lanes, %v", spans, len(data), err)
		}
		if strings.Contains(f.text, "NaN") || strings.Contains(f.text, "<b>") || !strings.Contains(f.text, "cpu:&lt;b&gt;1") || len(f.text) > 300<<10 {
			t.Errorf("%d spans: %d bytes, %.500s", spans, len(f.text), f.text)
		}
		if !strings.Contains(p.text, "did in epoch &lt;3&gt;, which took 1.00") {
			t.Error("the page does not say which epoch")
		}
		for k, lane := range r.Trace.Lanes {
			drawn, want, last := make([]bool, laneUnits*100), 0.0, 0.0
			for _, path := range lane.paths(r.Trace.Seconds) {
				for _, piece := range strings.Split(path, "z") {
					var x, wide, back float64
					if n, _ := fmt.Sscanf(piece, "M%f 0h%fv10h-%f", &x, &wide, &back); n < 3 {
						continue
					}
					last = max(last, x+wide)
					for i := int(math.Round(x * 100)); i < int(math.Round((x+wide)*100)) && i < len(drawn); i++ {
						drawn[i] = true
					}
				}
			}
			sum := 0
			for _, there := range drawn {
				if there {
					sum++
				}
			}
			for _, s := range lane.Spans {
				want += s.End - s.Start
			}
			if got := float64(sum) / float64(len(drawn)); math.Abs(got-want) > 0.1*want+0.003 || last > laneUnits+1 {
				t.Errorf("%d spans, lane %d: %v of it are drawn, operations take %v; it ends at %v", spans, k, got, want, last)
			}
			if text := fmt.Sprintf(`"spans":%d`, len(lane.Spans)); !strings.Contains(string(f.data), text) {
				t.Errorf("lane %d: no %s", k, text)
			}
		}
	}
}

func TestTimelineOfManyQueues(t *testing.T) {
	p := pageOf(t, traceRun(t, 100, 3))
	if f := p.figures["timeline"]; strings.Count(f.text, `class="lane"`) != maxLanes || !strings.Contains(f.text, "The first 64 of 100 queues are drawn.") {
		t.Errorf("%d lanes", strings.Count(f.text, `class="lane"`))
	}
	if _, ok := (&Run{Trace: &Trace{Seconds: 1}}).traceSection(); ok {
		t.Error("a trace without queues is drawn")
	}
	r := traceRun(t, 1, 3)
	r.Trace.Kept = 0.25
	if text := pageOf(t, r).text; !strings.Contains(text, "Only the first 250") {
		t.Error("the page does not say that the trace is cut")
	}
}

// What is no trace is refused; events that lie elsewhere, and kinds of newer versions, are not.
func TestReadTrace(t *testing.T) {
	for _, text := range []string{``, `[]`, `{}`, `{"traceEvents":[]}`, `{"otherData":{"seconds":0}}`, `{"otherData":{"seconds":1e31}}`, `{"otherData":{"seconds":1,"kept_seconds":2}}`, `{"otherData":{"seconds":"1"}}`} {
		if _, err := ReadTrace(strings.NewReader(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
	trace, err := ReadTrace(strings.NewReader(`{"otherData":{"seconds":1,"kept_seconds":1},"traceEvents":[{"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"q"}},
{"ph":"X","ts":-1,"dur":5,"pid":1,"tid":7},{"ph":"X","ts":5,"dur":1e9,"pid":1,"tid":7},{"ph":"X","ts":5,"dur":0,"pid":1,"tid":7},{"ph":"X","ts":5,"dur":5,"pid":2,"tid":7},{"ph":"B","ts":5,"pid":1,"tid":7},
{"ph":"X","ts":5,"dur":5,"pid":1,"tid":7,"cat":"new","args":{"bytes":3}}]}`))
	if err != nil || len(trace.Lanes) != 1 || len(trace.Lanes[0].Spans) != 1 || trace.Lanes[0].Spans[0] != (TraceSpan{"new", 5e-6, 1e-5}) {
		t.Errorf("%+v, %v", trace, err)
	}
}
