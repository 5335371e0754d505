package runfolder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
)

func TestNet(t *testing.T) {
	const cable = 1e9 / 8 * 1448 / 1514
	three := "0>1=100MiB/s,50us;0>2=200MiB/s,1ms;1>0=100MiB/s,50us;1>2=1MiB/s,0s;2>0=1GiB/s,50us;2>1=1GiB/s,50us"
	for _, tc := range []struct {
		text     string
		machines int
		want     string // the line from machine 0 to the last one, or what the error says
	}{
		{"", 2, "nothing"},
		{"1Gbit/s", 2, fmt.Sprint(devices.Line{BytesPerSec: cable, Latency: 75 * time.Microsecond})},
		{"0.1Gbit/s,1ms", 3, fmt.Sprint(devices.Line{BytesPerSec: cable / 10, Latency: time.Millisecond})},
		{"100Mbit/s, 0s", 2, fmt.Sprint(devices.Line{BytesPerSec: cable / 10})},
		{"1GiB/s,50us", 2, fmt.Sprint(devices.Line{BytesPerSec: 1 << 30, Latency: 50 * time.Microsecond})},
		{three, 3, fmt.Sprint(devices.Line{BytesPerSec: 200 << 20, Latency: time.Millisecond})},
		{three, 2, fmt.Sprint(devices.Line{BytesPerSec: 100 << 20, Latency: 50 * time.Microsecond})},
		{three, 4, "it connects 3 machines, and there are 4: measure all"},
		{"net.json", 2, "has not been read"},
		{"10", 2, `"10" is not a rate such as 10Gbit/s`},
		{"0Gbit/s", 2, "is not a rate"}, {"-1Gbit/s", 2, "is not a rate"}, {"NaNGbit/s", 2, "is not a rate"}, {"InfGbit/s", 2, "is not a rate"},
		{"1Gbit/s,", 2, `"" is not a latency such as 50us`}, {"1Gbit/s,-1s", 2, "is not a latency"}, {"1Gbit/s,2h", 2, "is not a latency"},
		{"0>1=1GiB/s", 2, "1 pairs are not those of any number of machines"},
		{"0>1=1GiB/s,0s;0>1=1GiB/s,0s", 2, "not all pairs of machine 1"},
		{"0>1=1GiB/s,0s;0>0=1GiB/s,0s", 2, "are not two machines of 2"},
		{"0>1=1GiB/s,0s;1>0=x", 2, "is not a rate"},
	} {
		c := Default()
		c.Dataset = "cora"
		c.Set("machines.net", tc.text)
		got := "nothing"
		err := c.Validate()
		if err == nil {
			var lines [][]devices.Line
			if lines, err = c.LinesBetween(tc.machines); lines != nil {
				got = fmt.Sprint(lines[0][tc.machines-1])
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("--machines net=%q of %d machines: %s, want %s", tc.text, tc.machines, got, tc.want)
		}
	}
	c := Default()
	c.Set("machines.net", three)
	if lines, err := c.LinesBetween(3); err != nil || FormatPairs(lines) != three {
		t.Errorf("written as %s, %v, want %s", FormatPairs(lines), err, three)
	}
}
