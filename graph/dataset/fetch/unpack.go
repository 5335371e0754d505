package fetch

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// unpack writes the members of the ZIP archive at path into the new folder dir and returns the folder that holds the data
// set: dir, or the one folder in it that holds everything. What an earlier call has left in dir is removed, and nothing is
// left there after an error.
//
// Members may be plain files and folders with local names, each once; together they may have at most want.limit bytes and
// inflate at most maxInflate times.
func unpack(ctx context.Context, path, dir string, want unpacking, create func(string, int, os.FileMode) (sink, error)) (_ string, err error) {
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	base := filepath.Base(path)
	z, err := zip.OpenReader(path)
	if err != nil {
		return "", notArchive(base, err)
	}
	defer z.Close()
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if err := refuseMembers(&z.Reader, info.Size(), want.limit); err != nil {
		return "", fmt.Errorf("%s: %w: %w", base, errNotPublished, err)
	}
	for _, f := range z.File {
		if err := unpackMember(ctx, f, filepath.Join(dir, filepath.FromSlash(f.Name)), create); err != nil {
			return "", notArchive(base+": "+f.Name, err)
		}
	}
	return want.find(dir, base)
}

// find returns the folder that holds what is needed: dir, or the one folder in it.
func (u unpacking) find(dir, base string) (string, error) {
	lacks := func(dir string) string {
		for _, name := range u.needs {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return name
			}
		}
		return ""
	}
	missing := lacks(dir)
	if missing == "" {
		return dir, nil
	}
	if list, err := os.ReadDir(dir); err == nil && len(list) == 1 && list[0].IsDir() {
		inner := filepath.Join(dir, list[0].Name())
		if missing = lacks(inner); missing == "" {
			return inner, nil
		}
	}
	return "", fmt.Errorf("%s: %w: it does not hold %s", base, errNotPublished, missing)
}

// notArchive marks faults of the archive itself; those of the disk are returned as they are.
func notArchive(what string, err error) error {
	var corrupt flate.CorruptInputError
	for _, fault := range []error{zip.ErrFormat, zip.ErrAlgorithm, zip.ErrChecksum, io.ErrUnexpectedEOF} {
		if errors.Is(err, fault) || errors.As(err, &corrupt) {
			return fmt.Errorf("%s: %w: %w", what, errNotPublished, err)
		}
	}
	return err
}

// maxInflate is how much larger than the archive its members may be; those of OGB are compressed already.
const maxInflate = 256

// refuseMembers looks at the list of members before any is unpacked.
func refuseMembers(z *zip.Reader, size, limit int64) error {
	const most = 10000
	if len(z.File) > most {
		return fmt.Errorf("it has %d members, at most %d are unpacked", len(z.File), most)
	}
	seen := map[string]bool{}
	left := uint64(limit)
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, "/")
		mode := f.Mode()
		switch {
		case !filepath.IsLocal(name) || strings.ContainsAny(name, "\\:\x00") || name == ".":
			return fmt.Errorf("its member %.80q leads out of the folder", f.Name)
		case !mode.IsRegular() && !mode.IsDir(), mode.IsDir() != strings.HasSuffix(f.Name, "/"):
			return fmt.Errorf("its member %.80q is no plain file", f.Name)
		case seen[filepath.Clean(name)]:
			return fmt.Errorf("its member %.80q is there twice", f.Name)
		case f.UncompressedSize64 > left:
			return fmt.Errorf("its members have more than %d bytes", limit)
		}
		seen[filepath.Clean(name)] = true
		left -= f.UncompressedSize64
	}
	if all := uint64(limit) - left; all > 16<<20 && all/maxInflate > uint64(size) {
		return fmt.Errorf("its members have %d bytes, more than %d times its own", all, maxInflate)
	}
	return nil
}

// unpackMember writes one member, exactly as many bytes as the list of members says.
func unpackMember(ctx context.Context, f *zip.File, path string, create func(string, int, os.FileMode) (sink, error)) (err error) {
	if f.Mode().IsDir() {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := create(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	buf := make([]byte, 256<<10)
	for left := f.UncompressedSize64; ; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n, rerr := in.Read(buf)
		if uint64(n) > left {
			return zip.ErrFormat
		}
		left -= uint64(n)
		if _, err := out.Write(buf[:n]); err != nil {
			return err
		}
		if rerr == io.EOF {
			return out.Sync()
		}
		if rerr != nil {
			return rerr
		}
	}
}
