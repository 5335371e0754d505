// Package room says whether memory can be had before it is taken.
//
// Its one noun is Short, the error of memory that is not to be had. The Go runtime ends the process when the system refuses
// it memory, and no program can catch that; so a reader of files asks first, with a number that the file has proved.
//
// Contract: For(n) returning nil means that the system would have given n bytes at that moment, with what the runtime needs
// beside them; it takes nothing, so two goroutines can be promised the same bytes. Amounts below 16 MiB are not asked for.
// It sees limits of the address space (ulimit -v), and what hostmem.Free says: control groups, ulimit -d, and what others use.
// Release collects the heap, unless it is small, so that what was in use can be had again.
//
//	if err := room.For(8 * edges); err != nil {
//		return err // *room.Short
//	}
package room
