// Package arch holds the tests that keep the house in order: who may import whom, where unsafe code may live, and that
// every package explains itself. It has no code of its own.
//
// Its one noun is the import table, docs/layers.txt. Each line names a package and the packages of this module that it may
// import; `*` stands for all of them; the comment "usable by all:" lists packages that need not be named. Test files are
// free. A package that is in no line fails the test, so a new room needs a line and with it a decision.
//
// The tests look at the module through `go list`, without and with cgo and with every build tag that some file uses, so
// they see files that this machine does not compile.
//
// Source: DESIGN.md 1, STYLE.md (Logging, unsafe).
//
//	go test ./internal/arch
package arch
