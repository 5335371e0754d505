package halo

import (
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/jaca"
)

// Facts is what planning asks of a part's device. Every process says it of its parts and knows it of all: so all of them make one plan.
type Facts struct {
	Rank   int       `json:",omitempty"` // the process that has the part
	Device int       // by the first part that lives on it
	Reach  []int     // devices that it copies from, itself among them, ascending
	H2D    float64   `json:",omitempty"` // Options.Links of the part; 0: not known
	D2H    float64   `json:",omitempty"`
	Free   gpu.Bytes // what the device has left for local slots of the part; 0 where no row has one
	Host   gpu.Bytes // what the process has left for the global cache; 0: not known
}

// OwnFacts returns those of the parts of this process.
func (c *Config) OwnFacts() []Facts {
	own := make([]Facts, len(c.Ends))
	var devices []int
	for k, e := range c.Ends {
		if c.Net != nil {
			own[k].Rank = c.Net.Rank()
		}
		own[k].Device = slices.Index(e.Peers, true)
		if own[k].Device == e.Part {
			devices = append(devices, e.Part)
		}
		if c.Links.H2D != nil {
			own[k].H2D = c.Links.H2D[k]
		}
		if c.Links.D2H != nil {
			own[k].D2H = c.Links.D2H[k]
		}
	}
	for k, e := range c.Ends {
		for _, d := range devices {
			if e.Reach[d] {
				own[k].Reach = append(own[k].Reach, d)
			}
		}
	}
	if c.policy() != jaca.None && c.exchanges() {
		host := c.freeOnHost()
		for k, free := range c.freeForCaches() {
			own[k].Free, own[k].Host = free, host
		}
	}
	return own
}

// reaches reports whether a part copies from the device of another one, or lives on it.
func (c *Config) reaches(part, owner int) bool {
	return slices.Contains(c.Facts[part].Reach, c.Facts[owner].Device)
}

// memory is what all parts have left for slots.
func (c *Config) memory() jaca.Memory {
	m := jaca.Memory{DeviceReserve: c.ReserveDevice, HostReserve: c.ReserveHost}
	for _, f := range c.Facts {
		m.Device = append(m.Device, f.Free)
		if m.Host == 0 || f.Host > 0 && f.Host < m.Host {
			m.Host = f.Host
		}
	}
	return m
}

// links returns the rates of the parts, with peer copies where devices reach each other: a copy crosses both links at once.
func (c *Config) links() jaca.Links {
	if c.Links.Peer != nil {
		return c.Links
	}
	var l jaca.Links
	known := slices.ContainsFunc(c.Facts, func(f Facts) bool { return f.H2D+f.D2H > 0 })
	rate := func(x float64) float64 {
		if x == 0 {
			return 1
		}
		return x
	}
	type kind struct { // of parts with equal links
		device   int
		h2d, d2h float64
	}
	of, first := map[kind]int32{}, []int{} // the first part of each
	for i, f := range c.Facts {
		k := kind{f.Device, rate(f.H2D), rate(f.D2H)}
		if _, ok := of[k]; !ok {
			of[k] = int32(len(first))
			first = append(first, i)
		}
		if l.On = append(l.On, of[k]); known {
			l.H2D, l.D2H = append(l.H2D, k.h2d), append(l.D2H, k.d2h)
		}
	}
	for _, o := range first {
		row := make([]float64, len(first))
		for k, i := range first {
			if c.reaches(i, o) {
				row[k] = max(rate(c.Facts[o].D2H), rate(c.Facts[i].H2D))
			}
		}
		l.Peer = append(l.Peer, row)
	}
	return l
}

// freeOnHost returns the memory that the global cache may take, at least 1; 0 = unknown. CPU devices that keep accounts only have
// not taken theirs yet.
func (c *Config) freeOnHost() gpu.Bytes {
	left, _, err := hostmem.Free()
	if err != nil {
		return 0
	}
	free := gpu.Bytes(left)
	for _, e := range c.Ends {
		if e.Accounts && e.Device.Info().Kind == gpu.CPU && slices.Index(e.Peers, true) == e.Part {
			free -= e.Device.Memory().Used
		}
	}
	return max(1, free)
}
