// Package window lets parts of a run take turns in the memory of a device that cannot hold them together.
//
// Its nouns: a Window is memory of a device; a Space is what one part has there in its turns: blocks that it allocates
// and a queue that computes with them; a Script is what comes up before each of its turns, and goes down behind it.
//
// # Contract
//
// A Space is a gpu.Device for whoever puts a part there. A block has a fixed place in the window, which is as large as
// the largest space, and a copy in host memory as far as its content outlives a turn. Operations of a space's queue
// take any operands: those in blocks lie in the window when the operation runs, others where they are.
//
// What turns need is not declared. Record notes what the operations of a run of turns read and write; from that follows
// what each turn reads that it has not written (it comes up first) and what it wrote that a later one reads (it goes
// down behind it). Next parts the turns while they are recorded. Run begins a script; Up and Down enqueue the copies of
// its turns, one after another. The same operations must follow each time. Between Down and Up all that lies in the
// window is lost.
//
// Outside of scripts operands come up when an operation reads them, until Settle takes down what was written. Uploads
// then change the copy in host memory alone. Who uses a window at which time is the caller's to settle: of all its
// spaces one at a time, in the order of its operations on the device.
//
// # Usage
//
//	w := window.New(device)
//	s := w.NewSpace(q, hostMemory)
//	b, err := s.Alloc(1<<20, "rows")
//	q := s.Queue()
//	script := s.Record(func() { first(q); s.Next(); second(q) })
//	s.Run(script)
//	s.Up(); first(q); s.Down()
//	// other spaces
//	s.Up(); second(q); s.Down()
package window
