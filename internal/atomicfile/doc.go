// Package atomicfile writes files and folders that appear whole or not at all.
//
// Its one noun is Special, the error of a name that leads to a device, a FIFO, a socket or a folder: these are never replaced. A link to a file
// is replaced and not written through, in folders of ours; Check refuses one that somebody has named.
// Standard output and standard error, by whatever name (/dev/stdout, /proc/self/fd/1, a link to either), are written to.
//
// Contract: after Write returns nil, the new content is on disk under path, and survives a crash; after an error or a
// crash, path holds what it held before. Readers never see a half-written file, and several writers of one path do not mix.
// Replace is Write without waiting for the disk, Folder is Write for a folder of files. Watch keeps files out of a folder that
// has taken the place of one.
//
// What a killed writer leaves beside path is named NAME.tmp-HOST-NUMBER, that of a folder .NAME.tmp-HOST-NUMBER. A living writer
// holds a lock on it, which ends with the process, so that neither a number used again nor another container misleads. Sweep
// removes what nobody holds; every write begins with it. Locks of other hosts may not be seen: what they left goes after a day.
//
//	err := atomicfile.Write("run/result.json", func(w io.Writer) error {
//		return json.NewEncoder(w).Encode(result)
//	})
package atomicfile
