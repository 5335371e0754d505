package jaca

import "capgnn/gpu"

// Stats count the lookups of some epochs and what they moved. A lookup is one (epoch, layer, direction, part, row).
type Stats struct {
	Lookups    int64
	Covered    int64 // the row had a slot, local or global, when it was looked up
	LocalHits  int64 // the scheduled version already lay in device memory: nothing moved
	GlobalHits int64 // read from the global cache without the owner sending in this epoch
	Misses     int64 // all else, refreshes included
	Bytes      Traffic
	AgeSum     int64 // of the versions used, in epochs
	AgeMax     int
}

// Traffic is bytes by route.
type Traffic struct {
	D2H, H2D, Peer gpu.Bytes
	Refresh        gpu.Bytes // of these, to renew rows that had a slot
}

// Total is the bytes on all links.
func (t Traffic) Total() gpu.Bytes { return t.D2H + t.H2D + t.Peer }

// Coverage is the share of lookups whose row has a slot; 0 without lookups.
func (s *Stats) Coverage() float64 { return share(s.Covered, s.Lookups) }

// HitRate is the share of lookups that are local or global hits; 0 without lookups.
func (s *Stats) HitRate() float64 { return share(s.LocalHits+s.GlobalHits, s.Lookups) }

// MeanAge is the mean age of the versions used, in epochs.
func (s *Stats) MeanAge() float64 { return share(s.AgeSum, s.Lookups) }

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Add adds what other epochs counted.
func (s *Stats) Add(o Stats) {
	s.Lookups += o.Lookups
	s.Covered += o.Covered
	s.LocalHits += o.LocalHits
	s.GlobalHits += o.GlobalHits
	s.Misses += o.Misses
	s.Bytes.D2H += o.Bytes.D2H
	s.Bytes.H2D += o.Bytes.H2D
	s.Bytes.Peer += o.Bytes.Peer
	s.Bytes.Refresh += o.Bytes.Refresh
	s.AgeSum += o.AgeSum
	s.AgeMax = max(s.AgeMax, o.AgeMax)
}
