package report

import (
	"bytes"
	"io"
	"testing"

	"capgnn/internal/runfile"
)

// Whatever stands in a file of metrics, reading and drawing it ends without a panic.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte(sampleMetrics(f, 4, true)))
	f.Add([]byte(`{"epoch":-9223372036854775808,"loss":1e308,"epoch_s":-1e308}` + "\n" + `{"epoch":9223372036854775807,"loss":-1e308,"epoch_s":5e-324}` + "\n"))
	f.Add([]byte(`{"epoch":0,"part_s":[{}]}` + "\n" + `{"epoch":1,"part_s":[{"mm":1},{"mm":-1}]}` + "\n"))
	f.Add([]byte(`{"epoch":0,"cache":{"local_hits":9223372036854775807,"misses":-1},"harm":{"":{"":[[[]]]}},"bytes":{"d2h":-1}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		epochs, err := runfile.ReadEpochs(bytes.NewReader(data))
		if err != nil {
			return
		}
		run := Run{Name: "r", Epochs: epochs, Result: &Result{Parts: 2, Devices: []string{"a"}}}
		if err := WriteRun(io.Discard, run); err != nil {
			t.Fatal(err)
		}
		if err := WriteComparison(io.Discard, []Run{run, run}); err != nil {
			t.Fatal(err)
		}
	})
}
