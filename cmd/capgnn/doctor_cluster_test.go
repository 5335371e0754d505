package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"capgnn/cmd/capgnn/internal/clustercheck"
	"capgnn/cmd/capgnn/internal/term"
)

// doctor --cluster makes a secret, says what a machine alone can see, and measures the lines between ranks.
func TestDoctorCluster(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	if text := s.must("doctor", "--cluster"); !strings.Contains(text, "made now") || !strings.Contains(text, "capgnn launch --hosts ") || !strings.Contains(text, "29500/tcp") {
		t.Errorf("alone:\n%s", text)
	}
	if info, err := os.Stat(s.path(".config/capgnn/secret")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the secret: %v, %v", info, err)
	}
	if text := s.must("doctor", "--cluster"); strings.Contains(text, "made now") {
		t.Errorf("it made another secret:\n%s", text)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	if text := s.must("launch", "-n", "2", "--", "doctor", "--cluster"); !strings.Contains(text, "nothing is wrong") || !strings.Contains(text, "round trip") || strings.Contains(text, "ufw") {
		t.Errorf("launched:\n%s", text)
	}
	const ranks = 3
	var outs, errs [ranks]bytes.Buffer
	var codes [ranks]int
	var all sync.WaitGroup
	for rank := range ranks {
		all.Go(func() {
			cmd := s.command("doctor", "--cluster", "--json", "--ranks", fmt.Sprintf("%d,rank=%d,master=127.0.0.1:%d", ranks, rank, port))
			cmd.Stdout, cmd.Stderr = &outs[rank], &errs[rank]
			_ = cmd.Run()
			codes[rank] = cmd.ProcessState.ExitCode()
		})
	}
	all.Wait()
	if codes != [ranks]int{} {
		t.Fatalf("they ended with %v: %s %s %s", codes, &errs[0], &errs[1], &errs[2])
	}
	var r clustercheck.Report
	if err := json.Unmarshal(outs[0].Bytes(), &r); err != nil || len(r.Machines) != ranks || len(r.Pairs) != ranks*(ranks-1) || len(r.Problems) != 0 || outs[1].Len()+outs[2].Len() > 0 {
		t.Errorf("%v: %s, others %s %s", err, &outs[0], &outs[1], &outs[2])
	}
	for _, p := range r.Pairs {
		if p.Rate < 1<<20 || p.RoundTrip <= 0 {
			t.Errorf("%+v", p)
		}
	}
}

// What keeps ranks from training ends doctor --cluster with 2 and one line that says what to do.
func TestDoctorClusterRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, args, says string }{
		{"half set", "--ranks rank=1", "--ranks"},
		{"no name", "--ranks 2,rank=1,master=nowhere.invalid", "write its address into /etc/hosts of this machine"},
		{"no secret", "--ranks 2,rank=1,master=192.0.2.1", "scp -p 192.0.2.1:.config/capgnn/secret ~/.config/capgnn/secret`"},
		{"nobody there", "--ranks 2,rank=1,master=127.0.0.1:9 --transport join-timeout=500ms", "nobody listens there: is rank 0 running"},
		{"a file open to others", "--transport secret=open", "make it 0600"},
		{"a transport of one process", "--transport mpi", "this process is alone: drop it but for secret="},
		{"a time of one process", "--transport join-timeout=5s", "this process is alone: drop it but for secret="},
		{"no transport", "--ranks 2,rank=1,master=127.0.0.1 --transport udp", "tcp-plain"},
	} {
		s := newSandbox(t)
		if err := os.WriteFile(s.path("open"), bytes.Repeat([]byte("x"), 40), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, text, code := s.run(append([]string{"doctor"}, strings.Fields(tc.args)...)...); code != term.ExitUsage || !strings.Contains(text, "add --cluster") {
			t.Errorf("%s, without --cluster: exit %d, %q", tc.name, code, text)
		}
		out, text, code := s.run(append([]string{"doctor", "--cluster"}, strings.Fields(tc.args)...)...)
		if code != term.ExitUsage || out != "" || strings.Count(text, "\n") != 1 || !strings.Contains(text, tc.says) {
			t.Errorf("%s: exit %d, %q, %q, want %q", tc.name, code, out, text, tc.says)
		}
	}
}
