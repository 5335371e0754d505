package devices

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/sim"
)

// Line is what connects one machine with another, in one direction.
type Line = sim.Line

// payload is the share of a frame of Ethernet that is not header, of TCP with an MTU of 1500.
const payload = 1448.0 / 1514

// cableLatency is the time between two machines where nobody says it: half of the round trip of a message between two processes, 150 µs on a cable of 1 Gbit/s (docs/bench/cluster.md).
const cableLatency = 75 * time.Microsecond

// bitUnits are those in which cables are sold.
var bitUnits = []struct {
	suffix string
	size   float64
}{{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}}

// ParseLine reads RATE or RATE,LATENCY: bits a second are those of a cable, whose frames have headers, bytes a second those of rows.
func ParseLine(text string) (Line, error) {
	rate, latency, both := strings.Cut(strings.TrimSpace(text), ",")
	l := Line{Latency: cableLatency}
	for _, u := range bitUnits {
		if digits, ok := strings.CutSuffix(rate, u.suffix); ok {
			x, err := strconv.ParseFloat(digits, 64)
			if err == nil && x*u.size >= 8 && x*u.size <= 1e15 {
				l.BytesPerSec = x * u.size / 8 * payload
			}
		}
	}
	var err error
	if l.BytesPerSec == 0 {
		l.BytesPerSec, err = parseRate(rate)
	}
	if err != nil {
		return l, fmt.Errorf("%q is not a rate such as 10Gbit/s or 1GiB/s", rate)
	}
	if both {
		if l.Latency, err = time.ParseDuration(strings.TrimSpace(latency)); err != nil || l.Latency < 0 || l.Latency > time.Minute {
			return l, fmt.Errorf("%q is not a latency such as 50us", strings.TrimSpace(latency))
		}
	}
	return l, nil
}

// FormatLine returns a line as ParseLine reads it.
func FormatLine(l Line) string {
	return fmt.Sprintf("%s/s,%s", term.FormatBytes(gpu.Bytes(l.BytesPerSec)), strings.ReplaceAll(l.Latency.String(), "µ", "u"))
}

// ForecastNetwork returns the network of machines whose devices OpenForecast has opened: lines[i][j] leads from machine i to machine j.
func ForecastNetwork(opened []gpu.Device, lines [][]Line) (*sim.Network, error) {
	clock, ok := opened[0].(*sim.Device).Clock().(*sim.Clock)
	if !ok {
		return nil, errors.New("devices of a forecast have no clock")
	}
	return sim.NewNetwork(clock, lines)
}
