package gnn

import (
	"encoding/binary"
	"io"
	"math"

	"capgnn/internal/npy"
)

// floatChunk is the number of bytes that conversions between files and float32 hold at a time.
const floatChunk = 1 << 15

// writeFloats writes x as float32 little endian.
func writeFloats(w io.Writer, x []float32) error {
	buf := make([]byte, 0, min(4*len(x), floatChunk))
	for len(x) > 0 {
		n := min(len(x), floatChunk/4)
		buf = buf[:0]
		for _, v := range x[:n] {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

// dtypeBytes returns the bytes of an element of a safetensors dtype that readFloats knows, else 0.
func dtypeBytes(dtype string) uint64 {
	switch dtype {
	case "F64":
		return 8
	case "F32":
		return 4
	case "F16", "BF16":
		return 2
	}
	return 0
}

// readFloats reads n bytes of little-endian numbers of a dtype as float32; n is a multiple of the dtype's width and not
// above what the file holds.
func readFloats(r io.Reader, dtype string, n int64) ([]float32, error) {
	width := int64(dtypeBytes(dtype))
	out := make([]float32, 0, n/width)
	buf := make([]byte, min(n, floatChunk))
	for n > 0 {
		b := buf[:min(n, floatChunk)]
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		n -= int64(len(b))
		for i := 0; i < len(b); i += int(width) {
			switch dtype {
			case "F64":
				out = append(out, float32(math.Float64frombits(binary.LittleEndian.Uint64(b[i:]))))
			case "F32":
				out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))
			case "F16":
				out = append(out, npy.Float16(binary.LittleEndian.Uint16(b[i:])))
			case "BF16":
				out = append(out, math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[i:]))<<16))
			}
		}
	}
	return out, nil
}
