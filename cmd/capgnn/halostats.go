package main

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/gpu"
	"capgnn/jaca"
)

// cacheCapacity is the sizes of the caches, in rows of an exchange.
type cacheCapacity struct {
	Local       []int     `json:"local"` // by part
	Global      int       `json:"global"`
	LocalUnion  []int     `json:"union_local"` // rows that a part could keep
	GlobalUnion int       `json:"union_global"`
	SlotBytes   gpu.Bytes `json:"slot_bytes"` // of a row in all exchanges; in host memory it takes twice as much
}

func capacityOf(p *jaca.Plan) *cacheCapacity {
	c := &p.Capacities
	return &cacheCapacity{Local: c.Local, Global: c.Global, LocalUnion: c.LocalUnion, GlobalUnion: c.GlobalUnion, SlotBytes: c.Slot}
}

func (c *cacheCapacity) String() string {
	var local []string
	for i, n := range c.Local {
		local = append(local, fmt.Sprintf("%d of %d", n, c.LocalUnion[i]))
	}
	if slices.Max(c.Local) == 0 {
		local = []string{"none"}
	}
	return fmt.Sprintf("rows kept: on devices %s, on the host %d of %d", strings.Join(local, ", "), c.Global, c.GlobalUnion)
}
