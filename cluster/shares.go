package cluster

import "fmt"

// Share is the part of a shared machine that a rank gets.
type Share struct {
	First, Devices int // the devices of the machine from First on, so many; none where the machine has only processor cores
	Threads        int // for loops on processor cores, at least one
}

// ShareOf returns the share of the local-th of ranks ranks on a machine with this many devices (0: it computes on its
// cores) and cores. Shares are contiguous and equal, up to one: the first ranks get the remainder.
func ShareOf(local, ranks, devices, cores int) (Share, error) {
	if local < 0 || local >= ranks {
		return Share{}, fmt.Errorf("share devices: local rank %d of %d ranks on this machine", local, ranks)
	}
	if devices > 0 && ranks > devices {
		return Share{}, fmt.Errorf("share devices: %d ranks on this machine have %d devices: start %d here, or give each its own with --devices", ranks, devices, devices)
	}
	begin, end := share(local, ranks, devices)
	first, last := share(local, ranks, cores)
	return Share{First: begin, Devices: end - begin, Threads: max(1, last-first)}, nil
}

// share returns the i-th of n contiguous shares of so many things.
func share(i, n, things int) (begin, end int) {
	each, left := things/n, things%n
	begin = i*each + min(i, left)
	end = begin + each
	if i < left {
		end++
	}
	return begin, end
}
