package training

import (
	"testing"
)

// Encoded rows are forecast to take no longer on parts fitted for them than on those fitted for rows as they are stored.
func TestPartsForEncodedRows(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, devices := range []string{
		"sim:rtx3090,link=0.125GiB/s,sim:rtx3090,link=0.125GiB/s,slow=2,sim:a40,link=0.125GiB/s",
		"sim:rtx3090,link=0.03GiB/s,sim:rtx3090,link=0.03GiB/s,slow=3",
	} {
		for _, seed := range []string{"1", "2"} {
			run := func(rows string) *Run {
				return settled(t, map[string]string{"devices": devices, "staleness": "0", "halo-dtype": rows, "seed": seed})
			}
			exact, encoded := run("fp32"), run("int8")
			took := func(parts *Run) float64 {
				o, err := encoded.Forecast(t.Context(), parts.Plan.Part, nil)
				if err != nil {
					t.Fatal(err)
				}
				return o.EpochS
			}
			own, other := took(encoded), took(exact)
			t.Logf("%s, seed %s: %.4g s on parts of its own, %.4g on those of exact rows", devices, seed, own, other)
			if own > other {
				t.Errorf("%s, seed %s: an epoch with int8 rows takes %g s on parts of its own, %g on those of exact rows", devices, seed, own, other)
			}
		}
	}
}
