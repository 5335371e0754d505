package datasets_test

import (
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
)

// sandbox is that of progtest.
type sandbox struct{ *progtest.Sandbox }

func newSandbox(t *testing.T) *sandbox { return &sandbox{progtest.NewSandbox(t)} }

func TestMain(m *testing.M) { progtest.Main(m, nil) }
