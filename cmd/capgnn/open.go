package main

import (
	"errors"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
)

// openDevices opens the devices in order. CPU devices without mem= share equally what the host has free beside the budgets of
// the others, and so do those of one GPU. On an error none stays open.
func openDevices(specs []deviceSpec) ([]gpu.Device, error) {
	if specs[0].simulated() {
		return openSimulated(specs)
	}
	free, open := gpu.Bytes(0), 0
	if f, _, err := hostmem.Free(); err == nil { // unknown: no limit
		free = gpu.Bytes(f)
	}
	for _, s := range specs {
		if s.GPU {
			continue
		}
		free -= min(free, s.Memory)
		if s.Memory == 0 {
			open++
		}
	}
	return openEach(len(specs), func(i int) (gpu.Device, error) {
		s := specs[i]
		if s.GPU {
			return openGPU(s, sharers(specs, s))
		}
		if s.Memory == 0 {
			s.Memory = free / gpu.Bytes(open)
		}
		return host.Open(host.Spec{Name: s.name(), Threads: s.Threads, Memory: s.Memory, Slow: s.Slow, Link: s.Link, Latency: s.Latency})
	})
}

// sharers is how many of the specs are the GPU of s and take what is free.
func sharers(specs []deviceSpec, s deviceSpec) (n int) {
	for _, o := range specs {
		if o.GPU && o.Label == s.Label && o.Memory == 0 {
			n++
		}
	}
	return n
}

// closeDevices closes all of them and joins what went wrong.
func closeDevices(devices []gpu.Device) error {
	var errs []error
	for _, d := range devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
