package direction

import "testing"

// Errors, checkpoints and plans name exchanges by these words, and number directions so.
func TestNames(t *testing.T) {
	if Forward != 0 || Forward.String() != "forward" || Backward != 1 || Backward.String() != "backward" {
		t.Errorf("%d is %s, %d is %s", Forward, Forward, Backward, Backward)
	}
}
