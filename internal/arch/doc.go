// Package arch has the tests of the repository's structure: who may import whom, where unsafe code may be, and that
// every package explains itself. It has no other code.
//
// Its one noun is the import table, docs/layers.txt. Each line names a package and the packages of this module that
// it may import; `*` stands for all of them; the comment "usable by all:" lists packages that need not be named. Test
// files may import anything. A package without a line fails the test, so a new package needs a decision.
//
// The tests look at the module through `go list`, without and with cgo and with every build tag that some file uses, so
// they see files that this machine does not compile.
//
// Rules: docs/layers.txt says who may import whom. Package unsafe, cgo and assembly live in gpu/cuda, gpu/host, hostmem and cluster/mpi,
// where they have to. The default program needs no libc, so nothing in it opens libraries at run time. No package but the commands prints or logs by itself: a caller who wants lines passes a *slog.Logger. Files
// of users are opened by internal/regular, so that a pipe or a device in place of a file is an error and no hang. Documents and
// comments name only what is in the repository.
//
//	go test ./internal/arch
package arch
