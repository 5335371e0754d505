// Package npy reads and writes NumPy's array files: .npy (one array) and .npz (a zip of them).
//
// Its nouns: a Header is dtype, shape and order; an Array is a header and where its elements lie; an Archive is an open
// .npz; an Entry is an array to be written; a FormatError says what is wrong with a file and where.
//
// # Contract
//
// Laziness. Opening reads headers only. Float32, Int64 and the other accessors read, convert and check the elements each
// time they are called, in chunks, in C order whatever order the file has. Object arrays may lie beside others in an
// archive: only asking for their elements is an error.
//
// Trust. No length from a file is believed: an array of a .npy file must fill the file exactly; memory for a member of
// an archive is taken when its compressed size bears it out, or when it has been inflated once to see; and only if the system
// gives it: a *room.Short inside a *FormatError says that it does not.
// Checksums of members are verified. Every fault is a *FormatError with file, member and byte offset; nothing panics.
//
// Supported: versions 1 to 3; f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1, S and U, little-endian; scalars; both orders. Members
// are stored or deflated, in any order. Not supported: big-endian data, structured and object arrays, encryption.
//
// Writing is deterministic: equal arguments give equal bytes.
//
// Safe for use by several goroutines, as far as the file below is not changed.
//
// # Source
//
// The format is numpy.lib.format's. The paper has nothing on it.
//
// # Usage
//
//	z, err := npy.OpenArchive("cora.npz")
//	if err != nil {
//		return err
//	}
//	defer z.Close()
//	a, err := z.Array("attr_data")
//	if err != nil {
//		return err
//	}
//	values, err := a.Float32()
//	err = npy.WriteFile("x.npy", []int{rows, cols}, values)
package npy
