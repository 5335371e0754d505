// Package textfile reads numbers and keys from text of any size, plain or gzip, without holding it, and writes tables that it reads.
//
// Its nouns: a Reader goes through lines of fields, a Scanner through JSON; Watched tells how far a file was read; a Table
// is written line by line.
//
// # Contract
//
// Trust. Text is untrusted input. A fault is a *npy.FormatError with byte, and line where there are lines; text that inflates more
// than any data set does is one. Nothing in a Reader or Scanner grows with the file, a line or a key,
// but what Head splits, which is bounded.
//
// Offsets in a gzip file are those of the text in it.
//
// # Usage
//
//	err := textfile.Open(path, watch, func(t *textfile.Reader) error {
//		for t.Next() {
//			v, err := t.ID("a vertex number")
//			...
//		}
//		return t.Finish()
//	})
package textfile
