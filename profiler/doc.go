// Package profiler measures what devices can do: dense and sparse products, copies to, from and inside a device, and
// copies between devices.
//
// Its nouns: a Profile is the measurements of all devices of a run, with one matrix size for all of them; a DeviceProfile
// and a Pair are its rows; a Timing is mean, deviation and median of one operation; an OpTime is the time of one operation
// of training at one size, of which a calibration holds some two hundred; Notes are measurements that are not yet a profile.
//
// # Contract
//
// Measure runs in the caller's goroutine. It measures one device and one operation at a time, so that devices which
// share cores or links do not disturb each other; only Beside measures several devices at once. It allocates on each
// device only while measuring it, and frees everything. It checks its context before every timed run. Options.Budget
// ends it when it has measured enough (docs/adr/0021); Notes keep measurements over interruptions. Only measurements
// are not repeatable; everything else is a pure function. Read takes any file and returns a valid profile or a
// *FormatError.
//
// # Source
//
// Paper §3.4, Table 1. We differ: five warm-ups, a sync after each run, the median beside the mean, a matrix size chosen to
// fit, sizes below 2048 for CPUs, page-locked memory for GPUs with pageable beside it, pairs of devices, and
// rates above a card's published peak are reported (those of the paper's Table 1 are, for the size it states).
//
// # Usage
//
//	p, err := profiler.Measure(ctx, devices, profiler.Options{Progress: show})
//	err = p.Write("profile.json")
//	fmt.Print(p.Table())
//
//	p, err = profiler.Read("profile.json")
//	rows, err := p.Match(devices) // refuses a profile of other hardware
//	fast := rows[0].MM.Median     // seconds
package profiler
