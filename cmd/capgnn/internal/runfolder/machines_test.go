package runfolder

import (
	"fmt"
	"strings"
	"testing"
)

func TestPartsOfMachines(t *testing.T) {
	for _, tc := range []struct {
		text  string
		parts int
		want  string // a list, or what the error says
	}{
		{"", 4, "[]"}, {"1", 4, "[4]"}, {"2", 4, "[2 2]"}, {"4", 4, "[1 1 1 1]"}, {"3,1", 4, "[3 1]"}, {" 1 , 3 ", 4, "[1 3]"},
		{"3", 4, "4 parts cannot be divided equally: say how many each machine has, as in --machines 1,1,2"},
		{"8", 4, "as in --machines 1,1,1,1"}, {"1", 1, "[1]"},
		{"2", 1, "--machines 2: 1 part cannot be divided: give more --devices or --parts"}, {"1,1", 1, "--machines 1,1: 1 part cannot be divided"}, {"1", 1, "[1]"},
		{"2,3", 4, "that is 5 parts in all, and there are 4"},
		{"0", 4, `"0" is not a number from 1`}, {"2,,2", 4, `"" is not a number from 1`}, {"-1", 4, "is not a number"}, {"99999", 4, "is not a number"},
	} {
		c := Default()
		c.Dataset = "cora"
		c.Set("machines", tc.text)
		err := c.Validate()
		var got string
		if err == nil {
			var list []int
			if list, err = c.PartsOfMachines(tc.parts); err == nil {
				got = fmt.Sprint(list)
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("--machines %q of %d parts: %s, want %s", tc.text, tc.parts, got, tc.want)
		}
	}
	for flag, value := range map[string]string{"partitioner": "random", "plan": "a.plan"} {
		c := Default()
		c.Dataset = "cora"
		c.Set("machines", "2")
		c.Set(flag, value)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "drop one of them") {
			t.Errorf("--machines 2 with --%s %s: %v", flag, value, err)
		}
	}
}

// A run says its machines once, unless somebody else has, or parts are not cut by multilevel; and forgets them with its devices.
func TestSettleMachines(t *testing.T) {
	for _, tc := range []struct {
		said, partitioner string
		hosts             []int
		want              string
	}{{"", "multilevel", []int{2, 1}, "2,1"}, {"", "multilevel", []int{3}, ""}, {"", "multilevel", nil, ""}, {"3", "multilevel", []int{2, 1}, "3"}, {"", "random", []int{2, 1}, ""}} {
		c := Default()
		c.Set("machines", tc.said)
		c.Set("partitioner", tc.partitioner)
		if c.SettleMachines(tc.hosts); c.Machines.String() != tc.want {
			t.Errorf("%+v: machines %q", tc, c.Machines)
		}
		if Forget(&c, []string{"devices"}); c.Machines.String() != "" {
			t.Errorf("%+v: with other devices the machines are %q", tc, c.Machines)
		}
	}
}
