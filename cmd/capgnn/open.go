package main

import (
	"errors"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
)

// openDevices opens the devices in order. Those without mem= share equally what the host has free beside the budgets of the
// others. On an error none stays open.
func openDevices(specs []deviceSpec) ([]gpu.Device, error) {
	if specs[0].simulated() {
		return openSimulated(specs)
	}
	free, open := gpu.Bytes(0), 0
	if f, _, err := hostmem.Free(); err == nil { // unknown: no limit
		free = gpu.Bytes(f)
	}
	for _, s := range specs {
		free -= min(free, s.Memory)
		if s.Memory == 0 {
			open++
		}
	}
	var devices []gpu.Device
	shared := map[float64]*host.Bus{} // by rate
	for _, s := range specs {
		memory := s.Memory
		if memory == 0 {
			memory = free / gpu.Bytes(open)
		}
		if s.Bus > 0 && shared[s.Bus] == nil {
			shared[s.Bus] = host.NewBus(s.Bus)
		}
		d, err := host.Open(host.Spec{Name: s.name(), Threads: s.Threads, Memory: memory, Slow: s.Slow, Link: s.Link, Latency: s.Latency, Bus: shared[s.Bus]})
		if err != nil {
			return nil, usagef("--devices: %w", errors.Join(err, closeDevices(devices)))
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// closeDevices closes all of them and joins what went wrong.
func closeDevices(devices []gpu.Device) error {
	var errs []error
	for _, d := range devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// closeAfter closes the devices of work that ended with err, and joins what went wrong. After a device was lost it closes
// none: the process ends, and a device that does not answer would be waited for.
func closeAfter(err error, devices []gpu.Device) error {
	if exitCode(err) == exitLost {
		return err
	}
	return errors.Join(err, closeDevices(devices))
}
