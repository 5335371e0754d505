package sim

import (
	"errors"
	"fmt"
	"math"

	"capgnn/gpu"
)

// Measured is what a device was measured to do with n×n float32 matrices: the row of a profile, or of the paper's Table 1.
type Measured struct {
	N       int       `json:"n"`
	Entries int64     `json:"entries"` // of the sparse operand; 0 = round(0.004·n²)
	MM      float64   `json:"mm_s"`    // seconds: dense × dense
	SpMM    float64   `json:"spmm_s"`  // sparse × dense
	H2D     float64   `json:"h2d_s"`   // one matrix, host to device
	D2H     float64   `json:"d2h_s"`   // one matrix, device to host
	IDT     float64   `json:"idt_s"`   // one matrix, copied inside the device
	Memory  gpu.Bytes `json:"memory_bytes"`
	Launch  float64   `json:"launch_s"`  // seconds that an operation takes beside its work
	Latency float64   `json:"latency_s"` // seconds that a copy takes beside its bytes
}

func (m *Measured) validate() error {
	var errs []error
	positive := func(name string, x float64) {
		if !(x > 0) || math.IsInf(x, 0) {
			errs = append(errs, fmt.Errorf("%s of %g s is impossible", name, x))
		}
	}
	for _, t := range []struct {
		name string
		s    float64
	}{{"mm", m.MM}, {"spmm", m.SpMM}, {"h2d", m.H2D}, {"d2h", m.D2H}, {"idt", m.IDT}} {
		positive(t.name, t.s)
	}
	if m.N < 1 || m.Entries < 0 || m.Memory < 0 {
		errs = append(errs, fmt.Errorf("n %d, entries %d or memory %d is impossible", m.N, m.Entries, m.Memory))
	}
	if !(m.Launch >= 0 && m.Launch < 1) || !(m.Latency >= 0 && m.Latency < 1) {
		errs = append(errs, fmt.Errorf("launch of %g s or latency of %g s is impossible", m.Launch, m.Latency))
	}
	return errors.Join(errs...)
}

// Rates returns what the measurements say per unit of work.
func (m *Measured) Rates() Rates {
	n := float64(m.N)
	entries := float64(m.Entries)
	if entries == 0 {
		entries = math.Round(0.004 * n * n)
	}
	return Rates{
		FlopsPerSec:  2 * n * n * n / m.MM,
		GatherPerSec: entries * n / m.SpMM,
		BytesPerSec:  2 * 4 * n * n / m.IDT, // each byte is read and written
		H2D:          4 * n * n / m.H2D,
		D2H:          4 * n * n / m.D2H,
		Launch:       m.Launch,
		Latency:      m.Latency,
	}
}

// Rates are the speeds of a device whose operations cost what their arithmetic or their bytes cost, whichever is more.
type Rates struct {
	FlopsPerSec  float64 // dense products: multiplications and additions
	GatherPerSec float64 // sparse products: entries × columns of float32
	BytesPerSec  float64 // device memory, read and written
	H2D, D2H     float64 // bytes per second of the link, per direction
	Peer         float64 // bytes per second from another device's memory; 0 = the slower of the two links
	Near         float64 // bytes per second and direction of resident queues, between a linked device and its host; 0 = unlimited
	Launch       float64 // seconds of an operation beside its work
	Latency      float64 // seconds of a copy beside its bytes
	Hop          float64 // seconds between an event and the queue that was waiting for it
}

func (r *Rates) validate() error {
	var errs []error
	for _, x := range []struct {
		name string
		rate float64
	}{{"dense products", r.FlopsPerSec}, {"sparse products", r.GatherPerSec}, {"memory", r.BytesPerSec}, {"H2D", r.H2D}, {"D2H", r.D2H}} {
		if !(x.rate > 0) || math.IsInf(x.rate, 0) {
			errs = append(errs, fmt.Errorf("rates: %s of %g a second are impossible", x.name, x.rate))
		}
	}
	for _, s := range []float64{r.Launch, r.Latency, r.Hop, r.Peer, r.Near} {
		if !(s >= 0) || math.IsInf(s, 0) {
			errs = append(errs, fmt.Errorf("rates: launch %g s, latency %g s, hop %g s, peer %g B/s or near %g B/s is impossible", r.Launch, r.Latency, r.Hop, r.Peer, r.Near))
			break
		}
	}
	return errors.Join(errs...)
}

// attention is how much longer the work of GAT takes per entry and column than a sum: forward, backward by destination and
// by source. Measured on the CPU backend (docs/bench/cpu.md), 4 heads of 64 columns.
var attention = map[kernel]float64{gatForward: 1.7, gatByDst: 1.9, gatBySrc: 2.4}

// seconds implements costs.
func (r *Rates) seconds(p *part) float64 {
	bytes := float64(p.bytes)
	switch p.kernel {
	case gemmNN, gemmNT, gemmTN:
		rows, in, out := float64(p.rows), float64(p.in), float64(p.out)
		return max(2*rows*in*out/r.FlopsPerSec, (4*in*out+bytes)/r.BytesPerSec)
	case gather, gatForward, gatByDst, gatBySrc, gatv2Forward, gatv2ByDst, gatv2BySrc:
		work := float64(p.entries) * float64(p.out) * float64(p.size) / 4
		if f, ok := attention[p.kernel]; ok {
			work *= f
		}
		return max(work/r.GatherPerSec, bytes/r.BytesPerSec)
	case fusedEpilogue:
		bytes = float64(p.written)
	}
	return bytes / r.BytesPerSec
}

func (r *Rates) crowded(*part) float64 { return 1 }

func (r *Rates) launch() float64 { return r.Launch }
func (r *Rates) hop() float64    { return r.Hop }
func (r *Rates) emulated() bool  { return false }

func (r *Rates) goroutine() (waits, sleeps float64) { return 0, 0 } // a card's queues take no processor

// transfer implements costs.
func (r *Rates) transfer(way route, n gpu.Bytes) (held, latency float64) {
	rate := r.H2D
	switch {
	case way == fromDevice:
		rate = r.D2H
	case way == betweenDevices && r.Peer > 0:
		rate = r.Peer
	case way == betweenDevices:
		rate = min(r.H2D, r.D2H)
	}
	return float64(n) / rate, r.Latency
}

// near implements costs.
func (r *Rates) near(n gpu.Bytes) float64 {
	if r.Near == 0 {
		return 0
	}
	return float64(n) / r.Near
}

// copying implements costs: each byte is read and written.
func (r *Rates) copying(n gpu.Bytes) float64 { return float64(2*n) / r.BytesPerSec }
