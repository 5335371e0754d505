// Package section makes sections of a checkpoint out of memory of devices and of the host, and puts them back, a piece at a time.
//
// Its nouns: a Place is where bytes go on a device; NotFinite says that what a checkpoint is to hold is no number.
//
// # Contract
//
// A device whose memory is read or written does nothing else meanwhile. Nothing is copied whole: a section takes the memory of the piece
// that is read at a time.
//
// # Usage
//
//	file.Weights = section.OfDevice(q, waits.Settle, buf, 0, size, nil)
//	...
//	err := section.Upload(file.Weights, make([]byte, checkpoint.Piece), section.Place{Queue: q, Buf: buf})
package section
