// Package pickle reads Python pickles of protocol 2 as far as Planetoid files need them.
//
// Its nouns: an Array is a NumPy array, a CSR a SciPy matrix, a Dict and a List what Python calls so.
//
// # Contract
//
// Trust. A pickle is a program, and untrusted input: nothing is ever called, six names are known, and all else is an error with
// file and byte (*npy.FormatError). Memory grows with the bytes that are there, never with a number that the file states.
//
// Lifetime. Elements of arrays stay in the file, which must be open as long as EachInt and EachFloat are called.
//
// # Source
//
// Python's pickletools.py; the files of github.com/kimiyoung/planetoid.
//
// # Usage
//
//	v, err := pickle.Read(path, file, size)
//	if err != nil {
//		return err
//	}
//	matrix, ok := v.(*pickle.CSR)
package pickle
