package rapa

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// validate checks what can be checked without the graph.
func (p *Plan) validate() error {
	if raw, err := hex.DecodeString(p.Key); err != nil || len(raw) != sha256.Size {
		return errors.New("key is not a SHA-256 in hex")
	}
	if !slices.Contains(Methods, p.Method) {
		return fmt.Errorf("partitioner %q is not one of %v", p.Method, Methods)
	}
	if err := checkTargets(p.Targets, len(p.Parts)); err != nil {
		return err
	}
	inner := make([]int64, len(p.Parts))
	for _, q := range p.Part {
		inner[q]++
	}
	for i, s := range p.Parts {
		if s.Inner != inner[i] {
			return fmt.Errorf("part %d says %d inner vertices and holds %d", i, s.Inner, inner[i])
		}
		if s.Cut < 0 || s.Edges < s.Cut || s.Halo < 0 || s.Halo > s.Cut || s.Train < 0 || s.Train > s.Inner {
			return fmt.Errorf("part %d has impossible counts", i)
		}
	}
	b := p.Balance
	if p.EdgeCut < 0 || p.Volume < 0 || !(b.Vertices >= 0 && b.Edges >= 0 && b.Train >= 0) {
		return errors.New("negative cut, volume or balance")
	}
	return errors.Join(p.validateDevices(), p.validateTrace(), p.validateDropped())
}

func (p *Plan) validateDevices() error {
	if p.DeviceOf != nil && len(p.DeviceOf) != len(p.Parts) {
		return fmt.Errorf("devices of %d parts, want %d", len(p.DeviceOf), len(p.Parts))
	}
	for i, d := range p.DeviceOf {
		if d < 0 || d >= len(p.Devices) {
			return fmt.Errorf("part %d is on device %d of %d", i, d, len(p.Devices))
		}
	}
	if p.Costs != nil && len(p.Costs) != len(p.Parts) {
		return fmt.Errorf("costs of %d parts, want %d", len(p.Costs), len(p.Parts))
	}
	return validateCosts(p.Costs)
}

func (p *Plan) validateTrace() error {
	if p.Moved < 0 || p.Moved > int64(len(p.Part)) {
		return fmt.Errorf("%d of %d vertices moved", p.Moved, len(p.Part))
	}
	if (p.Trace == nil) != (p.Stop == "") || p.Stop != "" && !slices.Contains(Stops, p.Stop) {
		return fmt.Errorf("%d iterations stopped for %q", len(p.Trace), p.Stop)
	}
	for k, it := range p.Trace {
		if len(it.Parts) != len(p.Parts) {
			return fmt.Errorf("iteration %d has %d parts, want %d", k, len(it.Parts), len(p.Parts))
		}
		for i, s := range it.Parts {
			if s.Inner < 0 || s.Edges < s.Outer || s.Outer < s.Halo || s.Halo < 0 || s.Sent < 0 || !(s.Cost >= 0) {
				return fmt.Errorf("iteration %d: part %d has impossible counts", k, i)
			}
		}
	}
	return nil
}

func (p *Plan) validateDropped() error {
	if p.Score != "" && !slices.Contains(PruneScores, p.Score) {
		return fmt.Errorf("score %q is not one of %v", p.Score, PruneScores)
	}
	l := p.Lost
	if l.Edges < 0 || l.Edges > l.Cut || !(l.Share >= 0 && l.Share <= 1) {
		return fmt.Errorf("%d of %d cut edges lost, a share of %g", l.Edges, l.Cut, l.Share)
	}
	if p.Dropped == nil {
		if l.Edges != 0 {
			return fmt.Errorf("%d edges lost and nothing dropped", l.Edges)
		}
		return nil
	}
	if len(p.Dropped) != len(p.Parts) || len(l.PerPart) != len(p.Parts) || len(l.Replicas) != len(p.Parts) {
		return fmt.Errorf("dropped vertices of %d parts and losses of %d and %d, want %d", len(p.Dropped), len(l.PerPart), len(l.Replicas), len(p.Parts))
	}
	sum := int64(0)
	for i, list := range p.Dropped {
		sum += l.PerPart[i]
		if n := int64(len(list)); n != l.Replicas[i] || n > l.PerPart[i] || n > p.Parts[i].Halo || l.PerPart[i] > p.Parts[i].Cut {
			return fmt.Errorf("part %d drops %d vertices and says %d with %d edges", i, n, l.Replicas[i], l.PerPart[i])
		}
		for _, v := range list {
			if p.Part[v] == int32(i) {
				return fmt.Errorf("part %d drops its own vertex %d", i, v)
			}
		}
	}
	if sum != l.Edges {
		return fmt.Errorf("%d edges lost, %d by part", l.Edges, sum)
	}
	return nil
}
