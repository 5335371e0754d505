package devices

import (
	"errors"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
)

// Open opens the devices in order. CPU devices without mem= share equally what the host has free beside the budgets of
// the others, and so do those of one GPU. On an error none stays open.
func Open(specs []Spec) ([]gpu.Device, error) { return OpenBeside(specs, 1) }

// OpenBeside is Open where so many processes of this machine, this one included, open devices for one run: the host's free memory is shared
// by all of them.
func OpenBeside(specs []Spec, processes int) ([]gpu.Device, error) {
	if specs[0].Simulated() {
		return openSimulated(specs)
	}
	free, open := gpu.Bytes(0), 0
	if f, _, err := hostmem.Free(); err == nil { // unknown: no limit
		free = gpu.Bytes(f) / gpu.Bytes(processes)
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
	shared := map[float64]*host.Bus{} // by rate
	return openEach(len(specs), func(i int) (gpu.Device, error) {
		s := specs[i]
		if s.GPU {
			return openGPU(s, sharers(specs, s))
		}
		if s.Memory == 0 {
			s.Memory = free / gpu.Bytes(open)
		}
		if s.Bus > 0 && shared[s.Bus] == nil {
			shared[s.Bus] = host.NewBus(s.Bus)
		}
		return host.Open(host.Spec{Name: specs[i].name(), Threads: s.Threads, Memory: s.Memory, Slow: s.Slow, Link: s.Link, Latency: s.Latency, Bus: shared[s.Bus]})
	})
}

// sharers is how many of the specs are the GPU of s and take what is free.
func sharers(specs []Spec, s Spec) (n int) {
	for _, o := range specs {
		if o.GPU && o.Label == s.Label && o.Memory == 0 {
			n++
		}
	}
	return n
}

// CloseAll closes all of them and joins what went wrong.
func CloseAll(devices []gpu.Device) error {
	var errs []error
	for _, d := range devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// CloseAfter closes the devices of work that ended with err, and joins what went wrong. After a device was lost it closes
// none: the process ends, and a device that does not answer would be waited for.
func CloseAfter(err error, devices []gpu.Device) error {
	if term.ExitCode(err) == term.ExitLost {
		return err
	}
	return errors.Join(err, CloseAll(devices))
}
