// Package checkpoint is the file format of checkpoints: it saves them, keeps the newest few, and loads the newest that is whole.
//
// Its nouns: a File is the content of one checkpoint; a Section is a stream of bytes in it, of a size known before; a FormatError
// says where a file is damaged.
//
// # Contract
//
// Save puts a file in place whole or not at all, on disk before older ones go, so a crash leaves the older ones or the new one whole.
// Files carry a SHA-256 of all their bytes. LoadLatest checks it, and every length, before it believes anything: a damaged file is
// passed over for the one before it, and told. Equal content gives equal bytes.
//
// A Section is read once, in order, a piece at a time: neither Save nor LoadLatest holds a large one in memory. Sections of a
// loaded File read from the open file, until Close. What the sections hold is the trainer's business; only the lengths of weights and
// moments are held against each other here.
//
// # Usage
//
//	err := checkpoint.Save(dir, &checkpoint.File{Identity: id, Epoch: 20, Weights: bytes.NewReader(weights)}, 2)
//
//	f, skipped, err := checkpoint.LoadLatest(dir)
//	if errors.Is(err, checkpoint.ErrNone) {
//		// begin anew
//	}
//	defer f.Close()
package checkpoint
