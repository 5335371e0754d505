package profiler

import (
	"fmt"
	"strings"
)

// Peak is the published peak performance of a card.
type Peak struct {
	FlopsPerSec float64 `json:"flops_per_s"` // float32 without tensor cores, at boost clock
	BytesPerSec float64 `json:"bytes_per_s"` // device memory
}

// peaks are the makers' figures by model, without "NVIDIA", "GeForce" and "Tesla".
var peaks = map[string]Peak{
	"RTX 3090":       {35.6e12, 936e9},
	"A40":            {37.4e12, 696e9},
	"RTX 3060":       {12.7e12, 360e9},
	"RTX 2060":       {6.5e12, 336e9},
	"GTX 1660 Ti":    {5.4e12, 288e9},
	"GTX 1650":       {3.0e12, 192e9}, // its GDDR6 edition; the GDDR5 one has 128e9
	"RTX 4090":       {82.6e12, 1008e9},
	"A100-SXM4-40GB": {19.5e12, 1555e9},
	"A100-SXM4-80GB": {19.5e12, 2039e9},
	"H100 80GB HBM3": {67e12, 3350e9},
	"H200":           {67e12, 4800e9},
}

// peakOf returns the published peak of a model, nil if it is not known.
func peakOf(model string) *Peak {
	for _, prefix := range []string{"NVIDIA ", "GeForce ", "Tesla "} {
		model = strings.TrimPrefix(model, prefix)
	}
	if p, ok := peaks[model]; ok {
		return &p
	}
	return nil
}

const (
	// peakSlack allows for cards that boost above the published clock.
	peakSlack = 1.05
	// cacheBytes is beyond every known card's level-2 cache (H200: 50 MB): copies of smaller matrices may exceed the
	// memory's rate honestly.
	cacheBytes = 64 << 20
)

// Implausible lists the measurements that exceed a published peak, one line each: then the clock, the size or the
// name of the device is wrong. Devices of unknown peak are skipped.
func (p *Profile) Implausible() []string {
	var out []string
	for i := range p.Devices {
		d := &p.Devices[i]
		if d.Peak == nil {
			continue
		}
		if rate := p.FlopsPerSec(d); rate > peakSlack*d.Peak.FlopsPerSec {
			out = append(out, fmt.Sprintf("%s (%s): MM at %.1f TFLOP/s exceeds the published %.1f", d.Name, d.Model, rate/1e12,
				d.Peak.FlopsPerSec/1e12))
		}
		// a copy inside the device reads and writes every byte
		if rate := 2 * p.CopyBytesPerSec(d.IDT); p.matrixBytes() > cacheBytes && rate > peakSlack*d.Peak.BytesPerSec {
			out = append(out, fmt.Sprintf("%s (%s): IDT at %.0f GB/s exceeds the published %.0f", d.Name, d.Model, rate/1e9,
				d.Peak.BytesPerSec/1e9))
		}
	}
	return out
}
