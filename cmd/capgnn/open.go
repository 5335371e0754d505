package main

import (
	"errors"

	"capgnn/gpu"
	"capgnn/gpu/host"
)

// openDevices opens the devices in order. On an error none stays open.
func openDevices(specs []deviceSpec) ([]gpu.Device, error) {
	var devices []gpu.Device
	for _, s := range specs {
		d, err := host.Open(host.Spec{Name: s.name(), Threads: s.Threads, Memory: s.Memory, Slow: s.Slow, Link: s.Link, Latency: s.Latency})
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
