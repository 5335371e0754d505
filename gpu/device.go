package gpu

import (
	"errors"
	"fmt"
	"time"
)

// Kind names a backend.
type Kind string

// The backends.
const (
	CPU  Kind = "cpu"
	CUDA Kind = "cuda"
	Sim  Kind = "sim"
)

// Info describes a device. It does not change while the device is open.
type Info struct {
	Name    string // as the user wrote it: "cpu:0", "cuda:1"
	Kind    Kind
	Model   string // marketing name of the hardware; devices of one model count as equal
	UUID    string // stable identity of the hardware, used by profiles
	Variant string // what decides the last bits besides Model: instruction set, architecture, BLAS version
	Threads int    // CPU threads of the device, 0 for GPUs
	Budget  Bytes  // memory this process may allocate on the device
	Total   Bytes  // memory the device has
	// HalfProducts: a dense product that reads or writes BF16, or has Half, rounds its FP32 operands to BF16, to nearest even, before it
	// multiplies (docs/adr/0038). Sums are float32 all the same.
	HalfProducts bool
	// RowAlign: rows longer than this many bytes are gathered fastest if they begin at a multiple of it; 0: no
	// difference.
	RowAlign Bytes
}

// Sector is how many bytes the caches and the memory of an NVIDIA GPU move at once: the RowAlign of CUDA devices, and of forecasts for them.
const Sector Bytes = 32

// Memory is a device's allocation state.
type Memory struct {
	Used      Bytes // in blocks
	HighWater Bytes // most at one time, with what operations have taken beside the budget for partial results
	Budget    Bytes
}

// Device is one machine that runs operations: a CPU share, a GPU or a simulation of one.
type Device interface {
	Info() Info
	// Alloc returns a block of at least n bytes, aligned for any element type and kernel (64 bytes or more). The content
	// is undefined. name says what the block is for in errors and plans. Fails with *OutOfMemory.
	Alloc(n Bytes, name string) (Buffer, error)
	// Memory returns the current use; safe from any goroutine.
	Memory() Memory
	// NewQueue returns an empty queue. name appears in faults.
	NewQueue(name string) Queue
	// Close waits for all queues and releases everything. Buffers and queues are invalid afterwards.
	Close() error
}

// Queue runs operations in order. A Queue is used by one goroutine at a time.
type Queue interface {
	Ops
	// Upload copies src to dst from byte off on: host to device. Counted as H2D.
	Upload(dst Buffer, off Bytes, src []byte)
	// Download copies len(dst) bytes of src from byte off on: device to host. Counted as D2H.
	Download(dst []byte, src Buffer, off Bytes)
	// UploadRows copies scattered rows of host memory: dst[k] = row rows[k] of src, whose rows have the size of dst's.
	// dst has no gaps between its rows. src and rows must stay unchanged until the copy has run. Counted as H2D.
	UploadRows(dst Matrix, src []byte, rows []int32)
	// Call runs f on the host after everything enqueued so far and before anything enqueued later. An error of f is a
	// fault of the queue, with op as the operation; after a fault f does not run. f must be short and use no queue.
	Call(op string, f func() error)
	// Record returns an event that fires when everything enqueued so far has run.
	Record() Event
	// Wait delays everything enqueued later until ev has fired. ev may come from any device of the process.
	Wait(ev Event)
	// Sync blocks until everything enqueued has run and returns the queue's first fault, if any.
	Sync() error
	// Fault returns the first fault of the operations that have run so far, nil if there is none. It does not wait;
	// any goroutine may call it.
	Fault() error
	// Usage returns what the queue has done since it was made: the time of operations that have run, and the bytes of
	// all enqueued copies, so that bytes are the same in every run whenever they are read. Operations that a fault
	// prevents are subtracted. Exact after Sync.
	Usage() Usage
}

// Event marks a point in a queue.
type Event interface {
	// Done is closed when the event has fired.
	Done() <-chan struct{}
}

// Streamer is implemented by buffers that can be laid out for how they are read.
type Streamer interface {
	// Streamed declares that a buffer which was not written to yet is filled once and read in order, never at random.
	Streamed()
}

// Clock is a time that devices share and that is not the host's. Devices of one clock return equal values.
type Clock interface {
	// Now waits for everything that was enqueued on the clock's devices and returns the time at which it was done. No
	// goroutine may be enqueuing.
	Now() time.Duration
	// At returns the time of the clock at which the work before an event of its devices ended; 0 if there is none.
	At(ev Event) time.Duration
}

// Clocked is implemented by devices whose operations take the time of a Clock: their Usage is in it.
type Clocked interface {
	Clock() Clock
}

// Scratcher is implemented by devices that use memory of the process in addition to Memory.
type Scratcher interface {
	// Scratch returns the largest such memory of a layer: sums of this many entries over rows, their products with a
	// weight of in × out, and gradients.
	Scratch(rows int, entries int64, in, out int) Bytes
}

// PeerCopier is implemented by queues that can copy straight from another device's memory.
type PeerCopier interface {
	// CanCopyFrom reports whether this queue's device reaches the memory of src.
	CanCopyFrom(src Device) bool
	// CopyFrom copies src, in the memory of another device, to dst in this queue's: dst[i][j] = src[i][j].
	// Shapes and dtypes are equal. Counted as peer traffic of this queue.
	CopyFrom(dst, src Matrix)
}

// Resident is implemented by devices with an emulated or simulated link that may be between them and other devices,
// instead of between them and host memory: of the data that a program keeps in host memory for such a device, only
// those from other devices cross the link.
type Resident interface {
	// Linked reports whether the link is there, so that data from other devices take time.
	Linked() bool
	// NewResidentQueue is NewQueue for a queue whose uploads and downloads do not cross that link, because their data
	// are already on the device's side.
	NewResidentQueue(name string) ResidentQueue
}

// ResidentQueue is a queue of a Resident device.
type ResidentQueue interface {
	Queue
	// Fetch runs f on the host, which copies from the data of other devices to those of this one: parcels say how many
	// bytes come from which. It takes as long as f, and as the links that the parcels cross, all at the same time. The
	// bytes count as peer traffic, except those of the device itself, which cross no link. f must use no queue.
	Fetch(parcels []Parcel, f func())
}

// HostWriter is implemented by queues of devices whose memory is the host's.
type HostWriter interface {
	// UploadBy lets f write n bytes of dst from byte off on: an upload from several places of the host. f runs when
	// everything enqueued before has run, and must use no queue; what it reads must stay unchanged until then. Counted
	// as H2D.
	UploadBy(dst Buffer, off, n Bytes, f func(dst []byte))
}

// Parcel is a request of Ask bytes to a device, and its answer of Answer bytes.
type Parcel struct {
	From        Device
	Ask, Answer Bytes
}

// Phase classifies where a queue's time goes.
type Phase uint8

// Phases of Usage.Time.
const (
	PhaseAggregation Phase = iota // products with graph adjacency (SpMM, GAT edges)
	PhaseMM                       // dense products, and sparse features times weights
	PhaseTransfer                 // Upload, Download, CopyFrom
	PhaseWait                     // blocked in Wait
	PhaseReduce                   // Axpby and optimiser steps
	PhasePick                     // Gather, PackRows, UnpackRows: rows that others read are put together, and taken apart
	PhaseOther                    // everything else
	PhaseCount
)

func (p Phase) String() string {
	return [...]string{"aggregation", "mm", "transfer", "wait", "reduce", "pick", "other"}[p]
}

// Usage is what a queue has done: time per phase, bytes per route, and aggregation work.
type Usage struct {
	Time [PhaseCount]time.Duration
	// H2D, D2H and Peer are bytes counted by the copy routine itself.
	H2D, D2H, Peer Bytes
	// SpMM is the sum of stored entries × columns over all Aggregate and GAT operations.
	SpMM int64
}

// Add returns u + v.
func (u Usage) Add(v Usage) Usage {
	for p := range u.Time {
		u.Time[p] += v.Time[p]
	}
	u.H2D += v.H2D
	u.D2H += v.D2H
	u.Peer += v.Peer
	u.SpMM += v.SpMM
	return u
}

// Sub returns u - v.
func (u Usage) Sub(v Usage) Usage {
	for p := range u.Time {
		u.Time[p] -= v.Time[p]
	}
	u.H2D -= v.H2D
	u.D2H -= v.D2H
	u.Peer -= v.Peer
	u.SpMM -= v.SpMM
	return u
}

// OutOfMemory is returned by Alloc when a request exceeds the device's budget.
type OutOfMemory struct {
	Device string
	Name   string // what the block was for
	Need   Bytes  // size of the request
	Have   Bytes  // what was left
}

func (e *OutOfMemory) Error() string {
	return fmt.Sprintf("%s: allocate %q: needs %d bytes, %d left", e.Device, e.Name, e.Need, e.Have)
}

// Errors that callers branch on.
var (
	// ErrNoDevice: the device does not exist or its driver is missing.
	ErrNoDevice = errors.New("no such device")
	// ErrDeviceLost: the device stopped answering.
	ErrDeviceLost = errors.New("device lost")
)

// Fault is the error of a queue: the first operation that went wrong.
type Fault struct {
	Device, Queue, Op string
	Err               error
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s: queue %s: %s: %v", f.Device, f.Queue, f.Op, f.Err)
}

func (f *Fault) Unwrap() error { return f.Err }
