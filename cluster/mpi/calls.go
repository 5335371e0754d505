//go:build mpi && linux

package mpi

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// block is memory outside of Go's heap: MPI may keep its address. It is never given back, as MPI may write to it until the process ends.
type block []byte

func newBlock(bytes int) (block, error) {
	b, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("get %d bytes for messages of MPI: %w", bytes, err)
	}
	return b, nil
}

func (b block) address() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// int32 returns the number at an offset.
func (b block) int32(at uintptr) int32 { return *(*int32)(unsafe.Pointer(&b[at])) }

// Limits of the standard's constants, in both families at least as large, and of a status (24 and 20 bytes).
const (
	maxText     = 8192 // MPI_MAX_LIBRARY_VERSION_STRING; MPI_MAX_ERROR_STRING is less
	statusBytes = 24
	undefined   = -32766 // MPI_UNDEFINED: no request is under way
	funneled    = 1      // MPI_THREAD_FUNNELED: several threads, one of which calls
)

// call calls a function that returns an error code.
func (l *library) call(function uintptr, args ...uintptr) error {
	code, _, _ := purego.SyscallN(function, args...)
	if int32(code) == 0 {
		return nil
	}
	return l.fault(int32(code))
}

// fault is an error code in words.
func (l *library) fault(code int32) error {
	text, err := newBlock(maxText + 8)
	if err != nil {
		return err
	}
	defer syscall.Munmap(text)
	purego.SyscallN(l.errorString, uintptr(code), text.address()+8, text.address())
	return errors.New("MPI: " + oneLine(string(text[8:8+min(max(text.int32(0), 0), maxText)])))
}

// version is what the library says of itself.
func (l *library) version() string {
	text, err := newBlock(maxText + 8)
	if err != nil {
		return ""
	}
	defer syscall.Munmap(text)
	purego.SyscallN(l.libraryVersion, text.address()+8, text.address())
	return oneLine(string(text[8 : 8+min(max(text.int32(0), 0), maxText)]))
}

// requests is the table that MPI_Testsome reads and writes: requests, then the indices and the statuses of those that are done.
type requests struct {
	lib             *library
	n               int
	mem             block
	indices, status uintptr // offsets
	count           uintptr
}

func newRequests(lib *library, n int) (*requests, error) {
	r := &requests{lib: lib, n: n}
	r.count = uintptr(n) * 8
	r.indices = r.count + 8
	r.status = r.indices + (uintptr(n)*4+7)/8*8
	var err error
	if r.mem, err = newBlock(int(r.status) + n*statusBytes); err != nil {
		return nil, err
	}
	for i := range n {
		r.clear(i)
	}
	return r, nil
}

// clear makes a request none.
func (r *requests) clear(i int) {
	at := &r.mem[uintptr(i)*r.lib.requestBytes]
	if r.lib.requestBytes == 4 {
		*(*uint32)(unsafe.Pointer(at)) = uint32(r.lib.nullRequest)
		return
	}
	*(*uintptr)(unsafe.Pointer(at)) = r.lib.nullRequest
}

func (r *requests) at(i int) uintptr { return r.mem.address() + uintptr(i)*r.lib.requestBytes }

// send and receive post request i, over all of b. Messages of two ranks have one tag: their order is that of the calls.
func (r *requests) send(i int, b block, to int) error {
	return r.lib.call(r.lib.isend, b.address(), uintptr(len(b)), r.lib.byteType, uintptr(to), 0, r.lib.world, r.at(i))
}

func (r *requests) receive(i int, b block, from int) error {
	return r.lib.call(r.lib.irecv, b.address(), uintptr(len(b)), r.lib.byteType, uintptr(from), 0, r.lib.world, r.at(i))
}

func (r *requests) cancel(i int) error { return r.lib.call(r.lib.cancel, r.at(i)) }

// done is a request that is done: of a receive with the bytes that came.
type done struct {
	i, bytes int
	err      error
}

// test asks which requests are done, appends them to out, and makes them none. An error without one that is done is of all.
// none: no request is under way.
func (r *requests) test(out []done) (_ []done, none bool, err error) {
	base := r.mem.address()
	err = r.lib.call(r.lib.testsome, uintptr(r.n), base, base+r.count, base+r.indices, base+r.status)
	n := r.mem.int32(r.count)
	if n == undefined {
		return out, true, err
	}
	if n < 0 || int(n) > r.n {
		return out, false, errors.Join(err, fmt.Errorf("MPI says that %d of %d requests are done", n, r.n))
	}
	failed := false
	for k := range uintptr(n) {
		d := done{i: int(r.mem.int32(r.indices + 4*k))}
		at := r.status + r.statusStride()*k
		if err != nil {
			if code := r.mem.int32(at + r.lib.errorAt); code != 0 {
				d.err, failed = r.lib.fault(code), true
			}
		}
		if d.err == nil {
			if e := r.lib.call(r.lib.getCount, base+at, r.lib.byteType, base+r.count); e != nil {
				return out, false, e
			}
			d.bytes = int(r.mem.int32(r.count))
		}
		out = append(out, d)
	}
	if failed {
		err = nil
	}
	return out, false, err
}

// statusStride is the size of an MPI_Status.
func (r *requests) statusStride() uintptr {
	if r.lib.family == MPICH {
		return 20
	}
	return statusBytes
}
