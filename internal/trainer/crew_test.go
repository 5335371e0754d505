package trainer

import (
	"context"
	"strings"
	"testing"
	"time"

	"capgnn/internal/meet"
)

// Errors speak of parts by the numbers that they have in the whole run: who waited for whom is followed by them.
func TestErrorsOfParts(t *testing.T) {
	c, hub := new(Crew), meet.NewHub(t.Context(), time.Minute)
	for part := 2; part < 5; part++ {
		c.Workers = append(c.Workers, &Worker{Index: part, Waits: meet.Waits{Hub: hub}})
	}
	own := &meet.Late{Part: 4, For: 4, What: "its own device cpu:2"}
	err := c.Each(func(i int) error {
		switch i {
		case 0:
			return &meet.Late{Part: 2, For: 4, What: "part 4: new weights"}
		case 2:
			return own
		}
		return nil
	})
	if err != own {
		t.Errorf("%v, want %v", err, own)
	}
	cause := context.Cause(hub.Context())
	if cause == nil || !strings.HasPrefix(cause.Error(), "part 2 stopped") &&
		!strings.HasPrefix(cause.Error(), "part 4 stopped") {
		t.Errorf("the run ended by %v", cause)
	}
}
