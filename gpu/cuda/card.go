//go:build cuda

package cuda

import (
	"fmt"

	"gorgonia.org/cu"

	"capgnn/gpu"
)

// Card is what the driver says of a GPU.
type Card struct {
	Ordinal      int
	Model        string
	UUID         string // as nvidia-smi prints it: GPU-…
	Major, Minor int    // compute capability
	SMs          int
	Total        gpu.Bytes
	Peers        []bool // whose memory it reaches, by ordinal
}

// Cards returns what the driver says of every GPU. No context is made, so it takes no memory on them.
func (d *Driver) Cards() ([]Card, error) {
	n, err := d.Count()
	if err != nil {
		return nil, err
	}
	cards := make([]Card, n)
	for i := range cards {
		if cards[i], err = describe(cu.Device(i)); err != nil {
			return nil, fmt.Errorf("cuda:%d: %w", i, err)
		}
		cards[i].Peers = make([]bool, n)
		for j := range n {
			if i == j {
				continue
			}
			can, err := cu.Device(i).CanAccessPeer(cu.Device(j))
			cards[i].Peers[j] = err == nil && can != 0
		}
	}
	return cards, nil
}

func describe(dev cu.Device) (c Card, err error) {
	c.Ordinal = int(dev)
	if c.Model, err = dev.Name(); err != nil {
		return c, named("cuDeviceGetName", err)
	}
	id, err := dev.UUID()
	if err != nil {
		return c, named("cuDeviceGetUuid", err)
	}
	c.UUID = "GPU-" + id.String()
	if c.Major, c.Minor, err = dev.ComputeCapability(); err != nil {
		return c, named("cuDeviceGetAttribute", err)
	}
	if c.SMs, err = dev.Attribute(cu.MultiprocessorCount); err != nil {
		return c, named("cuDeviceGetAttribute", err)
	}
	total, err := dev.TotalMem()
	c.Total = gpu.Bytes(total)
	return c, named("cuDeviceTotalMem", err)
}
