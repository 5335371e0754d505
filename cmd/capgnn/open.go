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
			for _, opened := range devices {
				err = errors.Join(err, opened.Close())
			}
			return nil, usagef("--devices: %w", err)
		}
		devices = append(devices, d)
	}
	return devices, nil
}
