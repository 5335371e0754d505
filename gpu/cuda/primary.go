//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"gorgonia.org/cu"

	"capgnn/gpu"
)

// primary is a GPU's primary context with the kernels that are loaded into it. A Driver has one per GPU for all devices that the GPU
// is opened as. The first device that is opened makes the context; it is kept when the last one is closed, because making it
// and compiling the kernels takes seconds. A context that an error has ended is given up with its last device.
type primary struct {
	ordinal cu.Device
	lost    atomic.Bool // an error has ended the context

	mu        sync.Mutex
	context   cu.CUContext
	handle    contextHandle // the same; 0: there is none
	modules   []moduleHandle
	functions map[string]*function
	users     int   // open devices
	cause     error // the first error that has ended the context
	ended     error // that of the context before
}

// enter makes the context current on the calling thread for one device more, and makes the context itself if there is none.
func (p *primary) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handle != 0 && p.users == 0 {
		if err := p.wake(); errors.Is(err, gpu.ErrDeviceLost) {
			p.cause = err
			p.giveUp()
		}
	}
	if p.cause != nil {
		return fmt.Errorf("an error has ended the GPU's context, and it is still open under another name: %w", p.cause)
	}
	if p.handle == 0 {
		if err := p.make(); err != nil {
			p.giveUp()
			if p.ended != nil && errors.Is(err, gpu.ErrDeviceLost) {
				return fmt.Errorf("the driver gives this process no new context after an error on the GPU, start the program again: %w", err)
			}
			return err
		}
	} else if err := cu.SetCurrentContext(p.context); err != nil {
		return named("cuCtxSetCurrent", err)
	}
	p.users++
	return nil
}

// wake returns what has happened to a context that no device had in use. There is nothing in it to wait for.
func (p *primary) wake() error {
	if err := cu.SetCurrentContext(p.context); err != nil {
		return named("cuCtxSetCurrent", err)
	}
	return named("cuCtxSynchronize", cu.Synchronize())
}

// make retains the context and loads the kernels into it.
func (p *primary) make() (err error) {
	if p.context, err = p.ordinal.RetainPrimaryCtx(); err != nil {
		return named("cuDevicePrimaryCtxRetain", err)
	}
	p.handle = handleOf(p.context)
	if err := cu.SetCurrentContext(p.context); err != nil {
		return named("cuCtxSetCurrent", err)
	}
	p.functions = map[string]*function{}
	p.modules, err = loadModules()
	return err
}

// leave ends the use by one device.
func (p *primary) leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users > 0 || p.cause == nil {
		return nil
	}
	return p.giveUp()
}

// close gives the context back if no device has it open, or is about to.
func (p *primary) close() error {
	if !p.mu.TryLock() {
		return nil
	}
	defer p.mu.Unlock()
	if p.users > 0 || p.handle == 0 {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(p.context); err != nil {
		return named("cuCtxSetCurrent", err)
	}
	defer cu.SetCurrentContext(cu.CUContext{})
	return p.giveUp()
}

// giveUp releases the context, if there is one, and forgets what it was. What is lost has nothing else to give back. p.mu is held.
func (p *primary) giveUp() error {
	if p.handle == 0 {
		return nil
	}
	unloadModules(p.modules)
	err := releasePrimary(int(p.ordinal))
	if p.cause != nil {
		p.ended = p.cause
	}
	p.handle, p.modules, p.functions, p.cause = 0, nil, nil, nil
	p.lost.Store(false)
	if errors.Is(err, gpu.ErrDeviceLost) {
		return nil
	}
	return err
}

// note keeps the first error that has ended the context; others are of no meaning to it.
func (p *primary) note(err error) {
	if !errors.Is(err, gpu.ErrDeviceLost) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users > 0 && p.cause == nil {
		p.cause = err
		p.lost.Store(true)
	}
}

// function returns a kernel by its symbol. Launches of all devices of the GPU share it.
func (p *primary) function(name string, shared uint32) (functionHandle, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.functions[name]
	if f == nil {
		var err error
		if f, err = findFunction(p.modules, name); err != nil {
			return 0, err
		}
		p.functions[name] = f
	}
	return f.handle, f.allowShared(shared)
}
