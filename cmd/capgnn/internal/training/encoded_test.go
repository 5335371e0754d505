package training

import (
	"fmt"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/profiler"
)

// linkedTo returns a run on two devices like one, whose links have a rate in bytes per second, with rows of a type on their way. CPU devices are told by a
// profile as a card would be.
func linkedTo(t *testing.T, device, rows string, rate float64) *Run {
	t.Helper()
	list := strings.Join([]string{device, device}, fmt.Sprintf(",link=%.0fB/s,latency=10us,", rate)) + fmt.Sprintf(",link=%.0fB/s,latency=10us", rate)
	r := settled(t, map[string]string{"devices": list, "staleness": "0", "halo-dtype": rows, "hidden": "256"})
	if r.Specs[0].Simulated() {
		return r
	}
	cards, err := devices.Parse("sim:gtx1650,sim:gtx1650")
	if err != nil {
		t.Fatal(err)
	}
	if r.Profile, err = devices.CardProfile(cards); err != nil {
		t.Fatal(err)
	}
	card, err := cards[0].SimCard()
	if err != nil {
		t.Fatal(err)
	}
	r.Profile.N = card.N
	for i := range r.Profile.Devices {
		d, matrix := &r.Profile.Devices[i], 4*float64(r.Profile.N)*float64(r.Profile.N)
		d.H2D, d.D2H = profiler.Timing{Median: matrix / rate, Runs: 1}, profiler.Timing{Median: matrix / rate, Runs: 1}
	}
	return r
}

// Below the rate that is told a run with encoded rows is forecast to be faster than one without, over such links, and beyond it not.
func TestEncodedRowsPayBelowARate(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, device := range []string{"sim:rtx3090", "cpu:threads=1"} {
		for _, rows := range []string{"bf16", "int8"} {
			c, err := linkedTo(t, device, rows, 1e9).EncodedRows(t.Context())
			if err != nil || c == nil || c.PaysBelow == nil || *c.PaysBelow == 0 || c.HaloType != rows {
				t.Fatalf("%s, %s: %v, %v", device, rows, c, err)
			}
			t.Logf("%s: %s", device, c)
			for _, share := range []float64{0.8, 1.25} {
				var took []float64
				for _, as := range []string{rows, "fp32"} {
					r := linkedTo(t, device, as, share**c.PaysBelow)
					part, dropped := r.parts(len(r.Data.Problem.Labels))
					o, err := r.Forecast(t.Context(), part, dropped)
					if err != nil {
						t.Fatal(err)
					}
					took = append(took, o.EpochS)
				}
				if pays := took[0] < took[1]*(1-encodedGain); pays != (share < 1) {
					t.Errorf("%s: %s; at %g times that an epoch takes %g s, with fp32 rows %g", device, c, share, took[0], took[1])
				}
			}
		}
	}
}

// Where nothing is open at any rate the words say so, and where devices send nothing to each other there are none.
func TestEncodedRowsInWords(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	at := func(rate float64) *float64 { return &rate }
	for want, c := range map[string]EncodedRows{
		"int8 rows pay below 3.0 GiB/s per link":         {"int8", at(3 << 30)},
		"bf16 rows pay on all links of up to 256 GiB/s":  {"bf16", nil},
		"int8 rows pay on no link of 16.0 MiB/s or more": {"int8", at(0)},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	none, err := settled(t, map[string]string{"devices": "sim:rtx3090,sim:rtx3090", "staleness": "0", "layers": "1"}).EncodedRows(t.Context())
	if err != nil || none == nil || none.PaysBelow == nil || *none.PaysBelow != 0 {
		t.Errorf("one layer, of which no row is exchanged: %v, %v", none, err)
	}
	if one, err := settled(t, map[string]string{"devices": "sim:rtx3090"}).EncodedRows(t.Context()); one != nil || err != nil {
		t.Errorf("one device: %v, %v", one, err)
	}
}
