package jaca

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Links are the seconds that a byte takes between host and devices. The zero Links have equal rates and no peer access.
type Links struct {
	H2D, D2H []float64   // by part; nil = 1
	Peer     [][]float64 // [owner][reader]; 0 = no peer access; nil = none at all
	// On is the device of each part; Peer is then indexed by device, because parts on one device have the same links.
	// nil: each part has its own device.
	On []int32
}

func (l *Links) validate(parts int) error {
	var errs []error
	rate := func(what string, x float64, zero bool) {
		if !(x > 0 || zero && x == 0) || math.IsInf(x, 0) {
			errs = append(errs, fmt.Errorf("links: %s is %g s per byte", what, x))
		}
	}
	for k, rates := range [][]float64{l.H2D, l.D2H} {
		name := []string{"h2d", "d2h"}[k]
		if rates != nil && len(rates) != parts {
			errs = append(errs, fmt.Errorf("links: %d %s rates for %d parts", len(rates), name, parts))
		}
		for i, x := range rates {
			rate(fmt.Sprintf("%s of part %d", name, i), x, false)
		}
	}
	if l.On != nil {
		if len(l.On) != parts || slices.ContainsFunc(l.On, func(d int32) bool { return d < 0 || int(d) >= len(l.Peer) }) {
			return errors.Join(append(errs, fmt.Errorf("links: %d parts on %d devices, there are %d parts", len(l.On), len(l.Peer), parts))...)
		}
		parts = len(l.Peer)
	}
	if l.Peer != nil && len(l.Peer) != parts {
		errs = append(errs, fmt.Errorf("links: %d rows of peer rates for %d parts", len(l.Peer), parts))
	}
	for o, rates := range l.Peer {
		if len(rates) != parts {
			errs = append(errs, fmt.Errorf("links: %d peer rates of part %d for %d parts", len(rates), o, parts))
		}
		for i, x := range rates {
			rate(fmt.Sprintf("peer of parts %d and %d", o, i), x, true)
		}
	}
	return errors.Join(errs...)
}

func (l *Links) h2d(reader int) float64 {
	if l.H2D == nil {
		return 1
	}
	return l.H2D[reader]
}

func (l *Links) d2h(owner int) float64 {
	if l.D2H == nil {
		return 1
	}
	return l.D2H[owner]
}

// on returns a part's place in Peer.
func (l *Links) on(part int) int {
	if l.On == nil {
		return part
	}
	return int(l.On[part])
}

// direct says how a row goes from its owner to a reader without the global cache: by peer copy if that is faster than through the
// host. extra is how much longer that takes than to read the row from the global cache.
func (l *Links) direct(owner, reader int) (peer bool, seconds, extra float64) {
	h, d := l.h2d(reader), l.d2h(owner)
	if l.Peer != nil {
		if x := l.Peer[l.on(owner)][l.on(reader)]; x > 0 && x < h+d {
			return true, x, x - h
		}
	}
	return false, h + d, d
}
