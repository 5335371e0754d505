package tfevents

import (
	"encoding/binary"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskDelta is TFRecord's constant: checksums of data that holds checksums would be weak without a mask.
const maskDelta = 0xa282ead8

// maskedCRC is ((crc >> 15) | (crc << 17)) + maskDelta, crc the CRC-32C of data.
func maskedCRC(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + maskDelta
}

// appendRecord appends data as one TFRecord: u64 length, u32 checksum of the length, data, u32 checksum of data,
// little-endian.
func appendRecord(b, data []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, maskedCRC(b[at:at+8]))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, maskedCRC(data))
}
