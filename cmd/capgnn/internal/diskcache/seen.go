package diskcache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/term"
)

// Seen reports whether the files of a folder are as they were when it was remembered that they are what they must be, which what says. A caller that begins to
// look at them at started calls remember once it has found them so.
func (c *Cache) Seen(folder, what string, started time.Time) (seen bool, remember func()) {
	if c == nil {
		return false, func() {}
	}
	m := memory{Version: memoryVersion, Path: folder, Options: "seen " + what, Files: stamps(folder, started)}
	name := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", folder, m.Options))
	file := filepath.Join(c.dir, "data-"+hex.EncodeToString(name[:16])+".json")
	if was, err := readMemory(file); err == nil && was.Version == m.Version && was.Path == m.Path && was.Options == m.Options && len(m.Files) > 0 && slices.Equal(was.Files, m.Files) {
		return true, func() {}
	}
	return false, func() {
		if len(m.Files) == 0 || !slices.Equal(m.Files, stamps(folder, started)) {
			return // a later change could not be told
		}
		data, err := json.Marshal(m)
		if err == nil {
			err = term.WriteFile(file, append(data, '\n'))
		}
		if err != nil {
			c.note("note: the identity of the data set is not remembered: %v", err)
		}
	}
}
