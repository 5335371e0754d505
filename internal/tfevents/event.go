package tfevents

import (
	"encoding/binary"
	"math"
	"time"
)

// Protobuf wire types.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// Field numbers of event.proto and summary.proto.
const (
	eventWallTime    = 1 // double, seconds since 1970
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary
	eventSessionLog  = 7 // SessionLog

	summaryValue     = 1 // repeated Value
	valueTag         = 1 // string
	valueSimple      = 2 // float
	sessionLogStatus = 1 // enum
)

const (
	fileVersion   = "brain.Event:2"
	sessionStatus = 1 // SessionLog.START
)

func appendTag(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field<<3|wire))
}

func appendBytes[T string | []byte](b []byte, field int, data T) []byte {
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(data)))
	return append(b, data...)
}

// appendEvent appends an Event whose content is the message or string data in the given field.
func appendEvent(b []byte, now time.Time, step int64, field int, data []byte) []byte {
	b = appendTag(b, eventWallTime, wire64)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(now.UnixNano())/1e9))
	if step != 0 { // protobuf leaves zeros out
		b = binary.AppendUvarint(appendTag(b, eventStep, wireVarint), uint64(step))
	}
	return appendBytes(b, field, data)
}

// appendStart appends a SessionLog that says that a session starts.
func appendStart(b []byte) []byte {
	return binary.AppendUvarint(appendTag(b, sessionLogStatus, wireVarint), sessionStatus)
}

// appendScalar appends one value of a Summary, as float32: TensorBoard's plots have no more.
func appendScalar(b []byte, s Scalar) []byte {
	v := appendBytes(nil, valueTag, s.Tag)
	v = binary.LittleEndian.AppendUint32(appendTag(v, valueSimple, wire32), math.Float32bits(float32(s.Value)))
	return appendBytes(b, summaryValue, v)
}
