//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gorgonia.org/cu"

	"capgnn/gpu"
	"capgnn/gpu/cuda/cudalink"
)

// Options say which libraries to load. The zero value: those that the system has.
type Options struct {
	Library     string   // the driver, a path or a name for the dynamic loader; "" = searched for
	NVML        string   // NVIDIA's management library; "" = libnvidia-ml.so.1
	BLAS        string   // cuBLAS; "" = searched for, BLASOff = do without
	BLASFolders []string // where cuBLAS is searched for beside the usual places
}

// driverPaths are where the driver is looked for, in order: what the dynamic loader finds, and where containers mount it.
func driverPaths(o Options) []string {
	if o.Library != "" {
		return []string{o.Library}
	}
	return []string{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/local/nvidia/lib/libcuda.so.1"}
}

// Driver is the loaded driver, and what its devices share. It is safe for use by several goroutines.
type Driver struct {
	options Options
	path    string
	pinned  ranges

	blasOnce sync.Once
	blas     *blasLibrary
	blasErr  error

	mu        sync.Mutex
	open      []*device
	primaries map[int]*primary // by ordinal; none is taken off
}

// Load loads the driver. The error, one line, is gpu.ErrNoDevice and says why there is none.
func Load(o Options) (*Driver, error) {
	path, err := cudalink.Open(driverPaths(o)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", gpu.ErrNoDevice, err)
	}
	n, err := cu.NumDevices()
	if err := named("cuDeviceGetCount", err); err != nil {
		return nil, fmt.Errorf("%w: %w", gpu.ErrNoDevice, err)
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: the driver shows no GPU to this process", gpu.ErrNoDevice)
	}
	return &Driver{options: o, path: path, primaries: map[int]*primary{}}, nil
}

// Count is the number of GPUs that the driver shows to this process.
func (d *Driver) Count() (int, error) {
	n, err := cu.NumDevices()
	return n, named("cuDeviceGetCount", err)
}

// Path is the file that the driver was loaded from.
func (d *Driver) Path() string { return d.path }

// Version is the CUDA version that the driver supports: 12040 for 12.4.
func (d *Driver) Version() int { return cu.Version() }

// Open opens a GPU, or a share of it. The error is gpu.ErrNoDevice if there is no such GPU.
func (d *Driver) Open(s Spec) (gpu.Device, error) {
	if s.Name == "" {
		s.Name = fmt.Sprintf("cuda:%d", s.Ordinal)
	}
	dev, err := d.start(s)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Name, err)
	}
	d.mu.Lock()
	d.open = append(d.open, dev)
	d.mu.Unlock()
	return dev, nil
}

// primary returns the place of a GPU's context.
func (d *Driver) primary(ordinal int) *primary {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.primaries[ordinal]
	if p == nil {
		p = &primary{ordinal: cu.Device(ordinal)}
		d.primaries[ordinal] = p
	}
	return p
}

// forget takes a device that is closed off the list. What its context has page-locked is undone if the context has come to its end, and
// with the last device what any has. It is called on the device's thread.
func (d *Driver) forget(dev *device) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = slices.DeleteFunc(d.open, func(o *device) bool { return o == dev })
	same := slices.ContainsFunc(d.open, func(o *device) bool { return o.primary == dev.primary })
	var err error
	if len(d.open) == 0 || !same && dev.primary.lost.Load() {
		err = d.pinned.end(func(ctx contextHandle) bool { return len(d.open) == 0 || ctx == dev.ctx })
	}
	if left := dev.primary.leave(); err == nil {
		err = left
	}
	return err
}

// Close gives back the contexts that are kept for GPUs that no device has open. The Driver works on; the next Open makes them again.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, p := range d.primaries {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// context returns the context of some open device that works.
func (d *Driver) context() (contextHandle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dev := range d.open {
		if !dev.primary.lost.Load() {
			return dev.ctx, nil
		}
	}
	return 0, errors.New("no GPU is open")
}
