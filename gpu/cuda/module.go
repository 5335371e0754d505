//go:build cuda

package cuda

import (
	"errors"
	"fmt"
)

// function is a kernel that the device has loaded. It belongs to the device's thread.
type function struct {
	handle functionHandle
	shared uint32 // bytes of dynamic shared memory that it may ask for
}

// plainShared is the dynamic shared memory that a kernel may have without asking the driver first.
const plainShared = 48 << 10

// allowShared lets the function have bytes of dynamic shared memory.
func (f *function) allowShared(bytes uint32) error {
	if bytes <= f.shared {
		return nil
	}
	if err := allowShared(f.handle, bytes); err != nil {
		return err
	}
	f.shared = bytes
	return nil
}

// loadModules loads the kernels into the current context.
func (d *device) loadModules() error {
	for _, i := range images() {
		m, err := loadModule(i.text)
		if err != nil {
			return errors.Join(fmt.Errorf("load kernels %s: %w", i.name, err), unloadModules(d.modules))
		}
		d.modules = append(d.modules, m)
	}
	return nil
}

// function returns a kernel by its symbol.
func (d *device) function(name string) (*function, error) {
	if f := d.functions[name]; f != nil {
		return f, nil
	}
	for _, m := range d.modules {
		h, err := moduleFunction(m, name)
		if coded(err, codeNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f := &function{handle: h, shared: plainShared}
		d.functions[name] = f
		return f, nil
	}
	return nil, fmt.Errorf("no kernel %s in the %d loaded modules", name, len(d.modules))
}
