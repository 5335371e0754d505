// Command measures prints the size of every package: files, lines, tests, long and tangled functions, exported names; and the lines of
// the documents. Generated files (zz_, or with Go's mark) count in no column. It prints, and judges nothing.
//
//	go run ./scripts/measures [FOLDER]
package main
