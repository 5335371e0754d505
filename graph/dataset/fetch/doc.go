// Package fetch goes from a data set's name to its files: it finds them on this machine, or downloads them from where they were
// published.
//
// Its nouns: a Published is a data set that the readers are written for, with its sizes and its addresses; Options says from
// where and how Download gets it.
//
// # Contract
//
// Table. Known is the one list of published sets: the address, size and SHA-256 of every file. docs/formats/fetch.md is written
// from it.
//
// Names. Resolve finds sets on this machine by the names that PyTorch Geometric, DGL and OGB give them (Aliased).
//
// Trust. What a server sends is untrusted input: a file of another size or checksum is refused, an archive is unpacked within
// bounds and within its folder. root/NAME is complete or not there; one process downloads it at a time.
//
// # Usage
//
//	path, _, err := fetch.Resolve("cora", roots)
//	var missing *fetch.NotFound
//	if errors.As(err, &missing) {
//		path, err = fetch.Download(ctx, "planetoid_cora", roots[0], fetch.Options{})
//	}
//	if err != nil {
//		return err
//	}
//	d, err := formats.Load(path, dataset.Options{})
package fetch
