// Package devices turns the text of --devices into open devices, and finds out how fast they are.
//
// Its nouns: a Spec, one device as the user wrote it; a profile (package profiler), what devices were measured to do, kept in
// the cache folder and found there again.
//
// # Contract
//
// A list is items between commas. An item that begins with cpu:, cuda: or sim: begins a device, key=value items after it
// belong to it: threads, mem, slow, link, latency, bus. All devices of a list are simulated or none is. Nothing is opened
// before Open, but Check finds GPUs that are not there. Whoever opens devices closes them (CloseAll), except after one was
// lost (CloseAfter). Builds without the tag cuda know no GPUs: gpu_off.go stands in for gpu_on.go.
//
// It is the only package that opens devices. It imports package term, the backends in gpu/*, profiler and hostmem.
// Begin with spec.go.
//
//	specs, err := devices.Parse("cpu:threads=1,cpu:threads=1,slow=3")
//	devices.ShareCores(specs, devices.Cores())
//	opened, err := devices.Open(specs)
package devices
