package meet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"capgnn/gpu"
)

// event is a gpu.Event that a test fires.
type event struct {
	gpu.Event
	done chan struct{}
}

func newEvent() event                       { return event{done: make(chan struct{})} }
func (e event) Done() <-chan struct{}       { return e.done }
func (e event) fire() event                 { close(e.done); return e }
func (e event) after(d time.Duration) event { time.AfterFunc(d, func() { close(e.done) }); return e }

// queue has run everything when end fires.
type queue struct {
	gpu.Queue
	end    event
	err    error
	waited []gpu.Event
}

func (q *queue) Wait(e gpu.Event)  { q.waited = append(q.waited, e) }
func (q *queue) Record() gpu.Event { return q.end }
func (q *queue) Sync() error       { return q.err }

type exchange string

func (x exchange) String() string { return string(x) }

const deadline = 3 * time.Second

// What a part waits for comes, or the wait ends at the deadline, or when the run is over: with the line that says why.
func TestReceive(t *testing.T) {
	broken := errors.New("part 2 stopped: device is full")
	for name, c := range map[string]struct {
		comes, over time.Duration // 0: never
		want        string
		took        time.Duration
	}{
		"there":       {comes: 1, took: 1},
		"just":        {comes: deadline - 1, took: deadline - 1},
		"late":        {comes: deadline + 1, want: "epoch 7: part 0 waited 3s for part 1: gradients of layer 2: device lost", took: deadline},
		"never":       {want: "epoch 7: part 0 waited 3s for part 1: gradients of layer 2: device lost", took: deadline},
		"run is over": {over: time.Second, want: broken.Error(), took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				h := NewHub(ctx, deadline)
				h.Epoch = 7
				mail := make(chan string, 1)
				if c.comes > 0 {
					time.AfterFunc(c.comes, func() { mail <- "x" })
				}
				if c.over > 0 {
					time.AfterFunc(c.over, func() { cancel(broken) })
				}
				start, got := time.Now(), ""
				err := Guard(func() { got = Receive(h, mail, 0, 1, "gradients of layer 2") })
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if c.want == "" && (err != nil || got != "x") || c.want != "" && (err == nil || err.Error() != c.want) {
					t.Errorf("%q, error %v, want %q", got, err, c.want)
				}
				late, echo := new(Late), new(Echo)
				if isLate := errors.As(err, &late); isLate != (c.took == deadline) || isLate != errors.Is(err, gpu.ErrDeviceLost) {
					t.Errorf("%v is a Late: %t", err, isLate)
				}
				if errors.As(err, &echo) != (c.over > 0) || errors.Is(err, broken) != (c.over > 0) {
					t.Errorf("%v is an echo of the run's end", err)
				}
				time.Sleep(time.Minute) // timers end in the bubble
			})
		})
	}
}

// A message that is there is taken even if the run is over.
func TestReceiveWhatIsThere(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mail := make(chan int, 1)
	mail <- 5
	if err := Guard(func() { Receive(NewHub(ctx, deadline), mail, 0, 1, "") }); err != nil {
		t.Error(err)
	}
}

// Guard passes on what is no fault of a part.
func TestGuardPassesPanics(t *testing.T) {
	defer func() {
		if r := recover(); r != "a bug" {
			t.Errorf("recovered %v", r)
		}
	}()
	err := errors.New("wrong version")
	if got := Guard(func() { Stop(err) }); got != err {
		t.Errorf("error %v, want %v", got, err)
	}
	_ = Guard(func() { panic("a bug") })
}

// A part whose queue does not come to an end names the first part whose event has not fired, or its own device.
func TestSettle(t *testing.T) {
	fault := errors.New("kernel fault")
	for name, c := range map[string]struct {
		first, second event // of parts 1 and 2
		end           event
		over          time.Duration
		err           error // of the queue
		want          string
		took          time.Duration
	}{
		"done":         {newEvent().fire(), newEvent().fire(), newEvent().fire(), 0, nil, "<nil>", 0},
		"fault":        {newEvent().fire(), newEvent().fire(), newEvent().fire(), 0, fault, fault.Error(), 0},
		"first":        {newEvent(), newEvent(), newEvent(), 0, nil, "epoch 0: part 3 waited 3s for part 1: halo rows of layer 1 forward: device lost", deadline},
		"second":       {newEvent().fire(), newEvent(), newEvent(), 0, nil, "epoch 0: part 3 waited 3s for part 2: weights of layer 0 backward: device lost", deadline},
		"own device":   {newEvent().fire(), newEvent().fire(), newEvent(), 0, nil, "epoch 0: part 3 waited 3s for its own device cpu:3: device lost", deadline},
		"run is over":  {newEvent(), newEvent(), newEvent(), time.Second, nil, "others failed", time.Second + deadline},
		"over in time": {newEvent(), newEvent(), newEvent(), deadline - 1, nil, "others failed", 2*deadline - 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.over > 0 {
					time.AfterFunc(c.over, func() { cancel(errors.New("others failed")) })
				}
				w := &Waits{Hub: NewHub(ctx, deadline), Part: 3, Device: "cpu:3"}
				q := &queue{end: bubbled(c.end), err: c.err}
				w.For(q, bubbled(c.first), 1, exchange("layer 1 forward"), "halo rows")
				w.For(q, bubbled(c.second), 2, exchange("layer 0 backward"), "weights")
				start := time.Now()
				err := w.Settle(q)
				if took := time.Since(start); fmt.Sprint(err) != c.want || took != c.took {
					t.Errorf("%v after %v, want %s after %v", err, took, c.want, c.took)
				}
				if len(q.waited) != 2 {
					t.Errorf("the queue waits for %d events", len(q.waited))
				}
				if c.want == "<nil>" && len(w.foreign) > 0 {
					t.Errorf("%d waits that are over are remembered", len(w.foreign))
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// bubbled is an event in the state of another one, of the caller's bubble.
func bubbled(e event) event {
	if fired(e) {
		return newEvent().fire()
	}
	return newEvent()
}

// A part waits for its own device as long as the run goes on, and some time longer.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := &Waits{Hub: NewHub(ctx, time.Hour)}
		if g := w.Hub.Grace(); g != 10*time.Second {
			t.Errorf("grace %v", g)
		}
		if err := w.Await(newEvent().after(59 * time.Minute)); err != nil {
			t.Error(err)
		}
		cancel(errors.New("others failed"))
		if err := w.Await(newEvent().after(9 * time.Second)); err != nil {
			t.Error(err)
		}
		if err := w.Await(newEvent().after(11 * time.Second)); err == nil {
			t.Error("the part waits for ever")
		}
		time.Sleep(time.Minute)
	})
}

// The error that others follow from is found in whatever order parts stop.
func TestRootCause(t *testing.T) {
	var (
		own     = &Late{Part: 1, For: 1, What: "its own device cpu:1"}
		full    = errors.New("device is full")
		device  = &gpu.Fault{Err: gpu.ErrDeviceLost}
		stopped = &gpu.Fault{Err: context.Canceled}
		version = errors.New("rows of another version")
		echo    = &Echo{full, nil}
		second  = &Late{Part: 0, For: 2, What: "part 2: new weights"}
		first   = &Late{Part: 2, For: 1, What: "part 1: gradients of layer 0"}
		third   = &Late{Part: 1, For: 2, What: "part 2: new weights"}
		room    = &Late{Part: 1, For: 0, Room: true, What: "part 0: to take halo rows"}
		rows    = &Late{Part: 0, For: 1, What: "part 1: halo rows of layer 1 forward"}
		far     = &Late{Part: 0, For: 2, What: "part 2: halo rows of layer 1 forward"}
	)
	follows := func(err error) bool { return errors.Is(err, version) }
	for name, c := range map[string]struct {
		errs []error
		want error
	}{
		"none":                                 {[]error{nil, nil}, nil},
		"one":                                  {[]error{nil, full}, full},
		"the first among equals":               {[]error{full, own, device}, full},
		"a device before waits":                {[]error{own, device}, device},
		"waits before readers":                 {[]error{version, own}, own},
		"readers before echoes":                {[]error{echo, version, context.Canceled}, version},
		"a wrapped echo":                       {[]error{fmt.Errorf("epoch 3: %w", echo), own}, own},
		"a cancelled context":                  {[]error{context.Canceled, own}, own},
		"a queue that was ended":               {[]error{own, stopped}, stopped},
		"who waits in between":                 {[]error{second, own, first}, own},
		"whom a silent one keeps waiting":      {[]error{second, nil, first}, first},
		"one that was stopped while it waited": {[]error{second, nil, &Echo{second, first}}, first},
		"one that was stopped at work":         {[]error{second, nil, &Echo{second, nil}}, second},
		"a circle":                             {[]error{second, third, first}, second},
		"a circle from who waits for room on":  {[]error{&Echo{room, rows}, room}, rows},
		"a circle to who waits for room":       {[]error{rows, room}, rows},
		"a longer circle with room":            {[]error{far, room, first}, first},
		"room alone":                           {[]error{nil, room}, room},
		"a part that nobody knows":             {[]error{second}, second},
		"echoes alone":                         {[]error{nil, context.Canceled, echo}, context.Canceled},
	} {
		if got := RootCause(c.errs, 0, follows); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Parts are numbered over all ranks: errs are those of one of them, and a part of another rank that is waited for is the cause.
func TestRootCauseInARank(t *testing.T) {
	follows := func(error) bool { return false }
	other, inner := &Late{Part: 4, For: 2, What: "part 2: gradients of layer 0"}, &Late{Part: 5, For: 4, What: "part 4: new weights"}
	own := &Late{Part: 4, For: 4, What: "its own device cpu:0"}
	beyond := &Late{Part: 4, For: 6, What: "part 6: new weights"}
	for name, c := range map[string]struct {
		errs []error
		want error
	}{
		"who waits in between":      {[]error{other, inner}, other},
		"its own device":            {[]error{own, inner}, own},
		"of the next rank":          {[]error{beyond, inner}, beyond},
		"stopped while it waited":   {[]error{&Echo{inner, other}, inner}, other},
		"a part that did not speak": {[]error{nil, inner}, inner},
	} {
		if got := RootCause(c.errs, 4, follows); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// An error that is no part's own ends the run: who waits gets it, and it stays the first one.
func TestFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, broken := NewHub(t.Context(), deadline), errors.New("send gradients to rank 1: connection closed")
		time.AfterFunc(time.Second, func() { h.Fail(broken); h.Fail(errors.New("second")) })
		start := time.Now()
		err := Guard(func() { Receive(h, make(chan int), 0, 1, "new weights") })
		if echo := new(Echo); !errors.Is(err, broken) || !errors.As(err, &echo) || echo.Wait.For != 1 || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if h.Context().Err() == nil {
			t.Error("the run goes on")
		}
	})
}
