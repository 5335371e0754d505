//go:build cuda

package cuda

import (
	"fmt"

	"capgnn/gpu"
	"capgnn/gpu/check"
)

// check returns what looks at the operands of an operation.
func (q *queue) check(op string) check.Operands {
	return check.Operands{Device: q.dev.info.Name, Queue: q.name, Op: op, Memory: q.dev}
}

// Block implements check.Memory.
func (d *device) Block(buf gpu.Buffer) (name string, size gpu.Bytes, wrong string) {
	b, ok := buf.(*buffer)
	switch {
	case !ok || b == nil:
		return "", 0, "has no buffer of a GPU"
	case b.dev != d:
		return "", 0, fmt.Sprintf("lies in block %q of another device, %s", b.name, b.dev.info.Name)
	case b.isFreed():
		return "", 0, fmt.Sprintf("lies in block %q, which was freed", b.name)
	}
	return b.name, b.size, ""
}
