package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"capgnn/internal/regular"
)

// member is a file of an archive.
type member struct {
	name string // with slashes, below the archive's folder
	data []byte
	mode fs.FileMode // 0755 for programs, else 0644
}

// membersOf reads the files below a folder.
func membersOf(folder string) (members []member, err error) {
	err = filepath.WalkDir(folder, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		data, err := regular.ReadFile(file, largest)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, file)
		m := member{filepath.ToSlash(name), data, 0o644}
		if info.Mode()&0o111 != 0 {
			m.mode = 0o755
		}
		members = append(members, m)
		return err
	})
	return members, err
}

// sorted orders members by name.
func sorted(members []member) []member {
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return members
}

// tarball returns members below a folder as a tar file in gzip, all of one time and of owner 0.
func tarball(members []member, folder string, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, m := range members {
		h := tar.Header{Format: tar.FormatUSTAR, Name: folder + "/" + m.name, Size: int64(len(m.data)), Mode: int64(m.mode), ModTime: at}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped returns members below a folder, "" for none, as a zip file, all of one time.
func zipped(members []member, folder string, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, m := range members {
		h := zip.FileHeader{Name: path.Join(folder, m.name), Method: zip.Deflate, Modified: at}
		h.SetMode(m.mode)
		w, err := z.CreateHeader(&h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
