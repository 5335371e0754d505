package jaca

import (
	"encoding/json"
	"fmt"
	"slices"
)

// controllerState is a controller in a checkpoint.
type controllerState struct {
	EPS      float64    `json:"eps"`
	Max      int        `json:"max"`
	Pipeline bool       `json:"pipeline"`
	Layers   []adaptive `json:"layers"`
}

// MarshalJSON returns the settings and the state of all layers.
func (c *Controller) MarshalJSON() ([]byte, error) {
	return json.Marshal(controllerState{c.eps, c.max, c.pipeline, c.layers})
}

// Restore takes over the state that MarshalJSON has returned. It is refused, and nothing changes, if it is of other settings or
// layers, or one that no controller can be in.
func (c *Controller) Restore(state []byte) error {
	var s controllerState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("restore adaptive staleness: %w", err)
	}
	if s.EPS != c.eps || s.Max != c.max || s.Pipeline != c.pipeline || len(s.Layers) != len(c.layers) {
		return fmt.Errorf("restore adaptive staleness: state of %s, pipeline %v, %d layers, the run has %s, %v, %d",
			Staleness{s.Max, s.EPS}, s.Pipeline, len(s.Layers), Staleness{c.max, c.eps}, c.pipeline, len(c.layers))
	}
	for i, l := range s.Layers {
		if l.Layer != c.layers[i].Layer {
			return fmt.Errorf("restore adaptive staleness: state of layer %d, want %d", l.Layer, c.layers[i].Layer)
		}
		if err := c.validate(&l); err != nil {
			return fmt.Errorf("restore adaptive staleness: layer %d: %w", l.Layer, err)
		}
	}
	c.layers = s.Layers
	return nil
}

// validate says what is wrong with the state of a layer.
func (c *Controller) validate(l *adaptive) error {
	if !slices.Contains(c.periods(), l.Period) {
		return fmt.Errorf("period %d is not one of %v", l.Period, c.periods())
	}
	if l.Start < 0 || l.Quiet < l.Start || l.Longest < 0 || l.Longest > 2*span(l.Period) {
		return fmt.Errorf("started in epoch %d, quiet since %d, over %d epochs", l.Start, l.Quiet, l.Longest)
	}
	if l.Pause < 0 || l.Pause > mostPause || l.Pause > 0 && l.Next < l.Start || l.Pause == 0 && l.Next != 0 || l.Pause > 0 && l.Period != c.least() {
		return fmt.Errorf("looked at in epoch %d, after %d", l.Next, l.Pause)
	}
	return nil
}
