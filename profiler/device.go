package profiler

import (
	"context"
	"fmt"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// device measures one device.
func (m *meter) device(ctx context.Context, dev gpu.Device, n int) (d *DeviceProfile, err error) {
	info, mem := dev.Info(), dev.Memory()
	d = &DeviceProfile{
		Name: info.Name, Kind: info.Kind, Model: info.Model, UUID: info.UUID, Variant: info.Variant, Threads: info.Threads,
		TotalBytes: info.Total, FreeBytes: mem.Budget - mem.Used, Peak: peakOf(info.Model),
	}
	if l, ok := dev.(Linked); ok {
		d.Link = l.Link()
	}
	o := &operands{dev: dev, n: n}
	defer func() {
		if freed := o.free(); err == nil {
			err = freed
		}
	}()
	if err := o.dense(); err != nil {
		return nil, err
	}
	if err := o.load(m.values); err != nil {
		return nil, err
	}
	pageable := hostmem.Bytes(m.values)
	steps := []struct {
		name string
		to   *Timing
		op   func() error
	}{{"MM", &d.MM, o.mm}, {"SpMM", &d.SpMM, o.spmm}, {"IDT", &d.IDT, o.idt}, {"H2D", &d.H2D, o.h2d(pageable)}, {"D2H", &d.D2H, o.d2h(pageable)}}
	for _, s := range steps {
		if *s.to, err = m.time(ctx, info.Name+" "+s.name, s.op); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if !m.pinned(dev) {
		return d, nil
	}
	return d, m.withPinned(ctx, d, o)
}

// withPinned measures copies from and to page-locked memory and moves the others to the pageable fields.
func (m *meter) withPinned(ctx context.Context, d *DeviceProfile, o *operands) error {
	block, release, err := m.Pinned(4 * gpu.Bytes(o.n) * gpu.Bytes(o.n))
	if err != nil {
		return fmt.Errorf("page-locked memory: %w", err)
	}
	defer release()
	h2d, d2h := d.H2D, d.D2H
	d.PageableH2D, d.PageableD2H, d.Pinned = &h2d, &d2h, true
	copy(block, hostmem.Bytes(m.values))
	if d.H2D, err = m.time(ctx, d.Name+" H2D page-locked", o.h2d(block)); err != nil {
		return fmt.Errorf("H2D: %w", err)
	}
	if d.D2H, err = m.time(ctx, d.Name+" D2H page-locked", o.d2h(block)); err != nil {
		return fmt.Errorf("D2H: %w", err)
	}
	return nil
}

// pair measures the copy of one dense operand from one device to another: straight where the target's queue can, else
// through pageable host memory, one copy after the other.
func (m *meter) pair(ctx context.Context, from, to gpu.Device, n int) (q *Pair, err error) {
	src, dst := &operands{dev: from, n: n}, &operands{dev: to, n: n}
	defer func() {
		for _, o := range []*operands{src, dst} {
			if freed := o.free(); err == nil {
				err = freed
			}
		}
	}()
	for _, o := range []*operands{src, dst} {
		o.q = o.dev.NewQueue("profile")
		buf, err := o.alloc(4 * n * n)
		if err != nil {
			return nil, err
		}
		o.a = gpu.Matrix{Buf: buf, Rows: n, Cols: n, LD: n}
		if o == src {
			o.q.Upload(buf, 0, hostmem.Bytes(m.values))
		}
		if err := o.q.Sync(); err != nil {
			return nil, err
		}
	}
	q = &Pair{}
	host := hostmem.Bytes(m.values)
	copyOnce := func() error {
		if err := src.d2h(host)(); err != nil {
			return err
		}
		return dst.h2d(host)()
	}
	if peer, ok := dst.q.(gpu.PeerCopier); ok && peer.CanCopyFrom(from) {
		q.Peer = true
		copyOnce = func() error {
			peer.CopyFrom(dst.a, src.a)
			return dst.q.Sync()
		}
	}
	q.Copy, err = m.time(ctx, from.Info().Name+" to "+to.Info().Name, copyOnce)
	return q, err
}
