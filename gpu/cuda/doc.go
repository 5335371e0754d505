// Package cuda runs training on NVIDIA GPUs through their driver. It is built with the tag cuda; without it, it is empty.
//
// Its nouns: a Driver is the loaded driver and what its devices share; a primary is a GPU's context with its kernels; a device is one GPU,
// or a share of one; a queue is a stream of it; a command is what a queue has enqueued; an event marks a point of a queue.
//
// # Contract
//
// Load opens the driver when it is asked for, so a program with this package starts on a machine without one. A device has
// one goroutine, locked to its OS thread, that makes the device's driver calls; it ends with the device. Beside it only
// goroutines that wait for an event, or copy host memory in and out of staging, call the driver.
//
// Queues gather commands and hand them to that goroutine in batches: at Record, Sync, Usage, and when a batch is full. So an
// epoch costs a few hops between threads; a queue that has had nothing to do since its last event costs none. A command that must wait for the host (another device's event that is not recorded
// yet, a CPU device's event, a half of the staging that is still being read) parks its queue; the others go on.
//
// A GPU's context and its kernels are made by the first Open and kept until Driver.Close or the end of the process.
//
// Host memory that the Driver's Pinner has registered is copied from and to directly; other memory through page-locked staging
// of the queue, in two halves.
//
// Errors. A call that fails becomes the queue's *gpu.Fault; it names the operation and, for launches, the kernel. What a
// kernel does wrong shows at the next Sync, with the operation that the queue had enqueued last. After such an error the driver
// refuses everything on the GPU: it is gpu.ErrDeviceLost, for all queues of all devices that are this GPU. When the last of them is
// closed the context is given up, and the next Open makes another one or says that the driver does not.
//
// Memory. The budget is what was free when the device was opened, less a reserve for what the driver takes itself; scratch of
// the kernels comes out of the reserve. A block costs its size rounded up to 512 bytes, as the driver's allocator does.
//
// Times. A queue records a timing event wherever the phase of its work changes, so Usage costs little and counts the device's
// time. Bytes are counted where the copy is handed to the driver.
//
// Tested on a fake driver (gpu/cuda/fakedriver), which interprets the PTX that a GPU would get.
//
// # Source
//
// CUDA driver API, through gorgonia.org/cu and the calls in shim.go that it lacks.
//
// # Usage
//
//	driver, err := cuda.Load(cuda.Options{})
//	dev, err := driver.Open(cuda.Spec{Name: "cuda:0", Ordinal: 0})
//	defer dev.Close()
package cuda
