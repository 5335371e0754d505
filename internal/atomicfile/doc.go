// Package atomicfile writes files that appear whole or not at all.
//
// Contract: after Write returns nil, the new content is on disk under path, and survives a crash; after an error or a
// crash, path holds what it held before. A crash may leave a temporary file beside path, named BASE.tmpNUMBER;
// the next Write of path removes it once it is a minute old. Readers
// never see a half-written file, and several writers of one path do not mix. Replace is Write without waiting for the disk.
//
//	err := atomicfile.Write("run/result.json", func(w io.Writer) error {
//		return json.NewEncoder(w).Encode(result)
//	})
package atomicfile
