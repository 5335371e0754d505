//go:build cuda

package cuda

import "fmt"

// function is a kernel that is loaded. It belongs to a primary.
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
func loadModules() (modules []moduleHandle, err error) {
	for _, i := range images() {
		m, err := loadModule(i.text)
		if err != nil {
			unloadModules(modules)
			return nil, fmt.Errorf("load kernels %s: %w", i.name, err)
		}
		modules = append(modules, m)
	}
	return modules, nil
}

// findFunction looks for a kernel by its symbol, in the module of its family alone: for a driver and its tools, to ask for what a module
// does not have is an error.
func findFunction(modules []moduleHandle, name string) (*function, error) {
	family, ok := families()[name]
	if !ok {
		return nil, fmt.Errorf("no kernel %s in the %d families", name, len(modules))
	}
	h, err := moduleFunction(modules[family], name)
	if err != nil {
		return nil, err
	}
	return &function{handle: h, shared: plainShared}, nil
}
