package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/regular"
)

// DataNames are what a run keeps of its data set, to compare others with.
type DataNames struct {
	Columns  []string `json:"columns"`  // of the features; null: only their numbers are known
	Classes  []string `json:"classes"`  // null: only their numbers are known
	Weighted bool     `json:"weighted"` // edges have weights, which the run did not leave out
	// Symmetric says that every edge is there in both directions; null: an older version made the run.
	Symmetric *bool `json:"symmetric"`
	// Standardized is Dataset.Standardised; null: an older version made the run.
	Standardized *string `json:"standardized"`
}

// maxNamesBytes bounds names.json, which has as many names as features have columns.
const maxNamesBytes = 1 << 30

// WriteNames keeps the names of a run.
func (d Dir) WriteNames(n *DataNames) error {
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("format names: %w", err)
	}
	return term.WriteFile(d.names(), append(data, '\n'))
}

// ReadNames returns what WriteNames kept; nil: an older version made the run.
func (d Dir) ReadNames() (*DataNames, error) {
	text, err := regular.ReadFile(d.names(), maxNamesBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, term.Usagef("read names: %w", err)
	}
	n := new(DataNames)
	if err := json.Unmarshal(text, n); err != nil {
		return nil, term.Usagef("read names %s: %w", d.names(), err)
	}
	return n, nil
}
