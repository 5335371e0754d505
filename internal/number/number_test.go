package number

import (
	"math"
	"testing"
	"time"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		x    float64
		want string
	}{
		{Seconds, 0, "0 s"}, {Seconds, 1.5e-9, "0.00150 µs"}, {Seconds, 980e-6, "980 µs"}, {Seconds, 999.6e-6, "1.00 ms"}, {Seconds, 0.0123, "12.3 ms"}, {Seconds, 0.9996, "1.00 s"}, {Seconds, 2.5, "2.50 s"}, {Seconds, 75, "75.0 s"},
		{Seconds, 119.4, "119 s"}, {Seconds, 119.6, "2m0s"}, {Seconds, 3072, "51m12s"}, {Seconds, 3 * 3600, "3h0m0s"}, {Seconds, -0.002, "-2.00 ms"}, {Seconds, 1e12, "1e+12 s"},
		{Bytes, 0, "0 B"}, {Bytes, 512, "512 B"}, {Bytes, 999, "999 B"}, {Bytes, 1000, "1.0 KiB"}, {Bytes, 8 << 10, "8.0 KiB"}, {Bytes, 64 << 20, "64.0 MiB"},
		{Bytes, 640 << 20, "640 MiB"}, {Bytes, 1 << 30, "1.0 GiB"}, {Bytes, 5 << 50, "5120 TiB"},
		{Count, 999, "999"}, {Count, -1234, "-1,234"}, {Count, 495924, "495,924"}, {Count, 12345678, "12,345,678"}, {Count, -123, "-123"},
		{Share, 0, "0.0 %"}, {Share, 1, "100.0 %"}, {Share, 0.4567, "45.7 %"}, {Share, 0.0004, "0.04 %"}, {Share, 1e-9, "0.0000 %"},
		{Score, 1, "1.0000"}, {Score, 0.81234, "0.8123"},
		{Ratio, 2.734, "2.73"}, {Ratio, 1, "1.00"}, {Ratio, 12.34, "12.3"}, {Ratio, 1234, "1234"},
		{Plain, 0.69314718, "0.6931"}, {Plain, 12.5, "12.50"}, {Plain, 1e-9, "1e-09"}, {Plain, 0, "0"}, {Plain, 12345.6, "12346"},
		{Plain, math.NaN(), "-"}, {Seconds, math.Inf(1), "-"}, {Count, math.NaN(), "-"},
	} {
		if got := c.kind.Text(c.x); got != c.want {
			t.Errorf("%s %v is written %q, want %q", c.kind, c.x, got, c.want)
		}
	}
	if got := Seconds.Or(nil); got != Missing {
		t.Errorf("nothing is written %q", got)
	}
	for x, want := range map[float64]string{2.5: "2.50 epochs/s", 1234: "1234 epochs/s", 0.0012: "0.00120 epochs/s"} {
		if got := Rate(x, "epochs"); got != want {
			t.Errorf("rate %v is written %q, want %q", x, got, want)
		}
	}
	for d, want := range map[time.Duration]string{9600 * time.Millisecond: "10 s", 119 * time.Second: "119 s", 3072 * time.Second: "51m12s"} {
		if got := Coarse(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{1: "1 part", 2: "2 parts", 1000: "1,000 parts"} {
		if got := Counted(n, "part"); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
	if one, two, classes := Counted(1, "halo vertex"), Counted(2, "vertex"), Counted(int64(3), "class"); one != "1 halo vertex" || two != "2 vertices" || classes != "3 classes" {
		t.Errorf("%q, %q, %q", one, two, classes)
	}
}
