package hostmem

import (
	"fmt"
	"strings"
)

// Limit is returned when a limit of the system prevents an allocation. All amounts are in bytes.
type Limit struct {
	Owner   string // whose memory it was to be
	Name    string // what the memory was for
	Locking bool   // the memory is there but cannot be page-locked
	Need    int64  // size of the request
	Left    int64  // what the limit leaves; -1: unknown
	Allowed int64  // the limit; -1: unknown
	What    string // the limit's name: "ulimit -l", "this machine's memory", or the file of a control group
	Raise   string // a shell command that raises it far enough; "" = none does
	Err     error  // what the system answered; nil = found before it was asked
}

// Error gives one line: whose memory, need, limit and what raises it.
func (e *Limit) Error() string {
	var s strings.Builder
	kind := "memory"
	if e.Locking {
		kind = "page-locked memory"
	}
	fmt.Fprintf(&s, "%s: %q needs %d bytes of %s", e.Owner, e.Name, e.Need, kind)
	if e.Left >= 0 {
		fmt.Fprintf(&s, ", %d of %d left (%s)", e.Left, e.Allowed, e.What)
	}
	if e.Err != nil {
		fmt.Fprintf(&s, ": %v", e.Err)
	}
	if e.Raise != "" {
		fmt.Fprintf(&s, "; to raise it: %s", e.Raise)
	}
	return s.String()
}

// Unwrap returns what the system answered.
func (e *Limit) Unwrap() error { return e.Err }

// room is what is left of the memory of a process, in bytes.
type room struct {
	free, total int64
	group       string // limit file of the control group that leaves least; "" = the machine itself does
	groupLimit  int64  // that group's limit
	space       string // "ulimit -v" or "ulimit -d" where that leaves least, which is total then
	used        int64  // what that counts already
}

// Raise returns the shell command that gives this process that many bytes more, in KiB of ulimit, if a ulimit is the
// tightest limit; else "".
func Raise(by int64) string {
	r, err := systemRoom()
	if err != nil {
		return ""
	}
	r.threads()
	return r.raise(by)
}

func (r *room) raise(by int64) string {
	if r.space == "" {
		return ""
	}
	return fmt.Sprintf("%s %d", r.space, (max(r.total, r.used)+by+1023)>>10)
}

// checkRoom returns a *Limit if need bytes are not free by ask, nil = by this system. Where a system does not tell how much is
// free, every request passes.
func checkRoom(owner, name string, need int64, ask func() (room, error)) error {
	if ask == nil {
		ask = systemRoom
	}
	r, err := ask()
	if err != nil || need <= r.free {
		return nil
	}
	e := &Limit{Owner: owner, Name: name, Need: need, Left: r.free, Allowed: r.total, What: "this machine's memory"}
	switch {
	case r.space != "":
		e.What, e.Raise = r.space, r.raise(need-r.free)
	case r.group != "":
		e.What, e.Allowed = r.group, r.groupLimit
		e.Raise = fmt.Sprintf("echo %d > %s", r.groupLimit+need-r.free, r.group)
	}
	return e
}
