package diskcache

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/pipeline"
)

// A file of prepared pieces is, in this order (numbers little-endian):
//
//	8 bytes   "CAPGPREP"
//	uint32    version of the format
//	uint32    bytes of the header, at most maxCacheHeader
//	header    JSON: cacheHeader
//	pieces    each at the next multiple of 64 bytes, zeros between them
//	uint32×k  CRC-32C of each checkedBlock bytes of everything before, up to the next multiple of 64 behind the last piece
//
// The checksums find damage, not malice: what is in the pieces is checked by who uses them.
const (
	cacheMagic            = "CAPGPREP"
	cacheVersion   uint32 = 1
	maxCacheHeader        = 1 << 20
	checkedBlock          = 1 << 20
)

type cacheHeader struct {
	Key    string        `json:"key"`
	What   string        `json:"what"`
	Pieces []cachedPiece `json:"pieces"`
}

type cachedPiece struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// aligned64 returns the next multiple of 64.
func aligned64(n int64) int64 { return (n + 63) &^ 63 }

// summer passes bytes on and sums every block.
type summer struct {
	w    io.Writer
	n    int64 // bytes so far
	sum  uint32
	sums []byte // of the blocks that are full
}

func (s *summer) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		k := min(len(p), checkedBlock-int(s.n%checkedBlock))
		s.sum = crc32.Update(s.sum, castagnoli, p[:k])
		n, err := s.w.Write(p[:k])
		written += n
		if err != nil {
			return written, err
		}
		s.n += int64(k)
		if p = p[k:]; s.n%checkedBlock == 0 {
			s.close()
		}
	}
	return written, nil
}

// close ends a block.
func (s *summer) close() {
	s.sums = binary.LittleEndian.AppendUint32(s.sums, s.sum)
	s.sum = 0
}

// encodeCache writes a file of pieces.
func encodeCache(w io.Writer, key, what string, pieces []pipeline.Piece) error {
	h := cacheHeader{Key: key, What: what}
	for _, p := range pieces {
		h.Pieces = append(h.Pieces, cachedPiece{p.Name, p.Size})
	}
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(head) > maxCacheHeader {
		return fmt.Errorf("%d pieces are too many for one file", len(pieces))
	}
	s := &summer{w: w}
	fixed := binary.LittleEndian.AppendUint32([]byte(cacheMagic), cacheVersion)
	fixed = binary.LittleEndian.AppendUint32(fixed, uint32(len(head)))
	if _, err := s.Write(append(fixed, head...)); err != nil {
		return err
	}
	for _, p := range pieces {
		if err := s.pad(); err != nil {
			return err
		}
		begin := s.n
		if err := p.Write(s); err != nil {
			return err
		}
		if s.n-begin != p.Size {
			return fmt.Errorf("piece %s has %d bytes, announced were %d", p.Name, s.n-begin, p.Size)
		}
	}
	if err := s.pad(); err != nil {
		return err
	}
	if s.n%checkedBlock != 0 {
		s.close()
	}
	_, err = w.Write(s.sums)
	return err
}

// pad writes zeros up to a multiple of 64.
func (s *summer) pad() error {
	_, err := s.Write(make([]byte, aligned64(s.n)-s.n))
	return err
}

// cacheSize returns how large a file of these pieces is, nearly.
func cacheSize(pieces []pipeline.Piece) int64 {
	total := int64(0)
	for _, p := range pieces {
		total += aligned64(p.Size)
	}
	return total
}

// decodeCache returns the pieces of a file, views of data. The error says at which byte a fault was noticed.
func decodeCache(data []byte, key string) (map[string][]byte, error) {
	bad := func(at int64, format string, a ...any) (map[string][]byte, error) {
		return nil, fmt.Errorf("byte %d: %w", at, fmt.Errorf(format, a...))
	}
	if len(data) < 16 || string(data[:8]) != cacheMagic {
		return bad(0, "not a file of prepared pieces")
	}
	if v := binary.LittleEndian.Uint32(data[8:]); v != cacheVersion {
		return bad(8, "version %d, this program reads version %d", v, cacheVersion)
	}
	total := int64(len(data))
	size := int64(binary.LittleEndian.Uint32(data[12:]))
	if size > maxCacheHeader || size > total-16 {
		return bad(12, "header of %d bytes in a file of %d", size, total)
	}
	var h cacheHeader
	if err := json.Unmarshal(data[16:16+size], &h); err != nil {
		return bad(16, "header: %w", err)
	}
	if h.Key != key {
		return bad(16, "key %q, want %q", h.Key, key)
	}
	pieces := make(map[string][]byte, len(h.Pieces))
	at := aligned64(16 + size)
	for _, p := range h.Pieces {
		if p.Size < 0 || at > total || p.Size > total-at {
			return bad(min(at, total), "piece %q of %d bytes: the file ends before", p.Name, p.Size)
		}
		if _, twice := pieces[p.Name]; twice {
			return bad(16, "piece %q is there twice", p.Name)
		}
		pieces[p.Name] = data[at : at+p.Size : at+p.Size]
		at = aligned64(at + p.Size)
	}
	if want := at + 4*((at+checkedBlock-1)/checkedBlock); total != want {
		return bad(min(at, total), "%d bytes, want %d", total, want)
	}
	if k := badBlock(data[:at], data[at:]); k >= 0 {
		return bad(int64(k)*checkedBlock, "the checksum of the %d bytes from here on does not fit", checkedBlock)
	}
	return pieces, nil
}

// badBlock returns the first block whose checksum is not that of sums, -1 if there is none.
func badBlock(data, sums []byte) int {
	return graph.FirstIndex(len(sums)/4, 1, func(k, _ int) int {
		block := data[k*checkedBlock : min(len(data), (k+1)*checkedBlock)]
		if crc32.Checksum(block, castagnoli) != binary.LittleEndian.Uint32(sums[4*k:]) {
			return k
		}
		return -1
	})
}

// cacheFile is a mapped file of pieces.
type cacheFile struct {
	pieces map[string][]byte
	region *hostmem.MapArray[uint8]
}

// openCacheFile maps the file at path, of the given size, and checks it.
func openCacheFile(path, key string, size int64) (*cacheFile, error) {
	if size > math.MaxInt {
		return nil, errors.New("larger than the address space")
	}
	region, err := hostmem.Map[uint8](path, 0, int(size))
	if err != nil {
		return nil, err
	}
	pieces, err := decodeCache(region.Data, key)
	if err != nil {
		return nil, errors.Join(err, region.Close())
	}
	return &cacheFile{pieces, region}, nil
}

// Piece implements pipeline.Kept.
func (f *cacheFile) Piece(name string) []byte { return f.pieces[name] }

// Close implements pipeline.Kept.
func (f *cacheFile) Close() {
	f.pieces = nil
	// Unmapping what was mapped as a whole cannot fail.
	_ = f.region.Close()
}
