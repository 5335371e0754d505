package clustercheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/cluster/tcp"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/term"
)

// The name of rank 0's machine has to mean that machine at every rank.
func TestName(t *testing.T) {
	lookup := func(_ context.Context, name string) ([]string, error) {
		all := map[string][]string{"alpha": {"192.168.1.4"}, "debian": {"127.0.1.1"}, "both": {"::1", "2001:db8::4"}}[name]
		if all == nil {
			return nil, errors.New("no such host")
		}
		return all, nil
	}
	for _, tc := range []struct {
		master      string
		rank, local int // local: ranks of this machine, of 2 in all; 0: not known
		says        string
		sure        bool
	}{
		{"alpha:29500", 1, 1, "", false},
		{"both:29500", 1, 1, "", false},
		{"192.168.1.4:29500", 1, 1, "", false},
		{"[2001:db8::4]:29500", 1, 1, "", false},
		{"debian:29500", 0, 1, "", false},
		{"debian:29500", 1, 1, "debian, where rank 0 is to be, is this machine itself here (127.0.1.1)", true},
		{"debian:29500", 1, 0, "debian, where rank 0 is to be", false},
		{"127.0.0.1:29500", 0, 2, "", false},
		{"127.0.0.1:29500", 1, 0, "", false},
		{"127.0.0.1:29500", 0, 1, "127.0.0.1, where rank 0 is to be", true},
		{"localhost:29500", 0, 1, "the name localhost", true},
		{"[::1]:29500", 1, 1, "::1, where rank 0 is to be", true},
		{"nowhere:29500", 1, 2, "the name nowhere of rank 0's machine does not resolve here: no such host", true},
		{"nowhere:29500", 0, 1, "the name nowhere", true},
		{"alpha", 1, 1, `"alpha" is no address of rank 0`, true},
	} {
		p, sure := checkName(t.Context(), cluster.Place{Rank: tc.rank, Ranks: 2, Master: tc.master, LocalRanks: tc.local}, lookup)
		got := ""
		if p != nil {
			if got = p.What; p.Mend == "" || term.ExitCode(p.fault()) != term.ExitUsage {
				t.Errorf("%+v: %+v", tc, p)
			}
		}
		if sure != tc.sure || tc.says == "" && got != "" || !strings.HasPrefix(got, tc.says) {
			t.Errorf("%+v: %q, sure %v", tc, got, sure)
		}
	}
}

// A secret is made where rank 0 is, and copied elsewhere; what is there stays.
func TestSecret(t *testing.T) {
	dir := t.TempDir()
	env := func(vars ...string) cluster.Lookup {
		return func(name string) (string, bool) {
			for _, v := range vars {
				if key, value, _ := strings.Cut(v, "="); key == name {
					return value, true
				}
			}
			return "", false
		}
	}
	home := "HOME=" + dir + "/a"
	path := dir + "/a/.config/capgnn/secret"
	far := cluster.Place{Rank: 1, Ranks: 2, Master: "alpha:29500", LocalRanks: 1}
	if _, err := findSecret("", env(home), far); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "this machine has no secret ("+path+"): copy it from rank 0's machine: `mkdir -pm 700 ~/.config/capgnn && scp -p alpha:.config/capgnn/secret ~/.config/capgnn/secret`") {
		t.Errorf("%v", err)
	}
	for i, p := range []cluster.Place{{}, {Ranks: 2, Master: "alpha:29500"}, far} {
		s, err := findSecret("", env(home), p)
		if want := (Secret{path, "0600", i == 0}); err != nil || s != want {
			t.Errorf("%d: %+v, %v, want %+v", i, s, err, want)
		}
	}
	if s, err := findSecret("", env("HOME="+dir+"/b"), cluster.Place{Rank: 1, Ranks: 2, Master: "127.0.0.1:29500"}); err != nil || !s.Made {
		t.Errorf("on loopback: %+v, %v", s, err)
	}
	if s, err := findSecret("", env(home, "CAPGNN_SECRET="+string(ranks.NewSecret())), far); err != nil || s.String() != "in the variable CAPGNN_SECRET" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := findSecret(filepath.Join(dir, "new"), env("CAPGNN_SECRET="+string(ranks.NewSecret())), cluster.Place{}); err != nil || !s.Made || !strings.HasSuffix(s.String(), "new (mode 0600), made now") {
		t.Errorf("%+v, %v", s, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, vars := range [][]string{{home}, {home, "CAPGNN_SECRET=short"}, {}} {
		if s, err := findSecret("", env(vars...), far); term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%v: %+v, %v", vars, s, err)
		}
	}
}

// What really keeps ranks from joining is answered with what helps.
func TestAdvice(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	secret := func(c string) []byte { return bytes.Repeat([]byte(c), 40) }
	ctx, cancel := context.WithCancel(t.Context())
	join := func(rank int, master string, secret []byte) error {
		g, err := tcp.Join(ctx, tcp.Options{Rank: rank, Ranks: 2, Master: master, Secret: secret, JoinTimeout: 300 * time.Millisecond})
		if err == nil {
			g.Close()
		}
		return err
	}
	gone := make(chan bool)
	go func() {
		_ = join(0, free.Addr().String(), secret("b"))
		close(gone)
	}()
	other := join(1, free.Addr().String(), secret("a"))
	cancel()
	<-gone
	ctx = t.Context()
	for _, tc := range []struct {
		name string
		err  error
		says string
	}{
		{"nobody there", join(1, free.Addr().String(), secret("a")), "nobody listens there: is rank 0 running, and do all ranks have its --ranks master=?"},
		{"port taken", join(0, taken.Addr().String(), secret("a")), "for all ranks with --ranks master=HOST:PORT: `ss -ltnp sport = :29500` names it"},
		{"address of another machine", join(0, "192.0.2.77:29500", secret("a")), "start rank 0 on the machine that has the address alpha"},
		{"no name", join(1, "nowhere.invalid:29500", secret("a")), "write the address of alpha into /etc/hosts"},
		{"alone", errors.New("rank 1 of 2 did not join at alpha:29500 within 1m0s: start it, or raise --transport join-timeout"), "where ranks run, a firewall on alpha has to let TCP port 29500 in (for example `"},
		{"a firewall", errors.New("rank 1 did not reach rank 0 at alpha:29500 within 6s: dial tcp 10.77.0.1:29500: i/o timeout"), "let TCP port 29500 in on alpha (for example `"},
		{"MTU, at rank 0", errors.New("rank 1 of 3 did not join at alpha:29500 within 6s: start it, or raise --transport join-timeout (turned away: 10.77.0.2:46750: read tcp 10.77.0.1:29500->10.77.0.2:46750: i/o timeout)"), "one MTU"},
		{"not a rank", errors.New("rank 1 did not reach rank 0 at alpha:29500 within 6s: tls: first record does not look like a TLS handshake"), "another program answers at port 29500 of alpha"},
		{"MTU", errors.New("rank 1 did not reach rank 0 at alpha:29500 within 6s: context deadline exceeded"), "one MTU"},
		{"another secret, at rank 0", errors.New("rank 1 of 2 did not join at alpha:29500 within 1m0s: start it, or raise --transport join-timeout (turned away: 10.0.0.2:40876: it has another secret)"), "copy it from"},
		{"another secret", other, "copy it from rank 0's machine: `mkdir -pm 700 / && scp -p alpha:/s /s`"},
		{"no secret", join(0, "0.0.0.0:0", nil), "`capgnn doctor --cluster` makes one on rank 0's machine; copy it to the others"},
	} {
		if tc.err == nil {
			t.Errorf("%s: they joined", tc.name)
			continue
		}
		err := bare.advised(term.AsUsage(tc.err), cluster.Place{Rank: 1, Ranks: 2, Master: "alpha:29500"}, Secret{Place: "/s"}, nil)
		if !strings.Contains(err.Error(), tc.says) || !strings.HasPrefix(err.Error(), tc.err.Error()) || len(err.Error()) > term.MaxErrorLine {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.says)
		}
	}
	if got := bare.advice("the other side has another secret", cluster.Place{}, Secret{Place: secretVariable}); got != "give CAPGNN_SECRET one value at all ranks, or none" {
		t.Error(got)
	}
	doubt := &Problem{"what", "mend"}
	if err := bare.advised(term.AsUsage(errors.New("x")), cluster.Place{}, Secret{}, doubt); err.Error() != "x: what: mend" {
		t.Error(err)
	}
	lost := &term.InterruptedError{Note: "timeout"}
	if err := bare.advised(lost, cluster.Place{}, Secret{}, doubt); err != error(lost) {
		t.Error(err)
	}
}

// machine is a host with these programs, and the ufw whose file has this text.
func machine(ufw string, programs ...string) Host {
	return Host{
		Path: func(program string) (string, error) {
			if slices.Contains(programs, program) {
				return "/usr/sbin/" + program, nil
			}
			return "", exec.ErrNotFound
		},
		Read: func(file string) ([]byte, error) {
			if ufw == "" || file != "/etc/ufw/ufw.conf" {
				return nil, fs.ErrNotExist
			}
			return []byte(ufw), nil
		},
	}
}

// bare is a machine without a firewall.
var bare = machine("")

// The rule is that of the firewall which the machine has; where none is found, all are named.
func TestRules(t *testing.T) {
	const off, on = "# Set to yes to start on boot.\nENABLED=no\n", "# Set to yes to start on boot.\nENABLED=yes\n"
	for _, tc := range []struct {
		name string
		host Host
		want string
	}{
		{"none", bare, "ufw firewalld nft"},
		{"nft alone, as on Debian", machine("", "nft"), "nft"},
		{"nft, ufw off", machine(off, "nft", "ufw"), "nft"},
		{"nft, ufw on", machine(on, "nft", "ufw"), "ufw"},
		{"firewalld", machine(off, "nft", "firewall-cmd"), "firewalld"},
	} {
		var names []string
		for _, r := range tc.host.rules("29500") {
			names = append(names, r.Firewall)
			if !strings.Contains(r.Port, "29500") || !strings.Contains(r.From, "ADDRESS") {
				t.Errorf("%s: %+v", tc.name, r)
			}
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("%s: rules of %q, want %q", tc.name, got, tc.want)
		}
		if line := tc.host.advice("dial tcp 10.77.0.1:29500: i/o timeout", cluster.Place{Master: "alpha:29500"}, Secret{}); !strings.Contains(line, tc.host.rules("29500")[0].Port) {
			t.Errorf("%s: %q", tc.name, line)
		}
	}
}

// A machine without ssh is told so.
func TestAlone(t *testing.T) {
	for _, tc := range []struct {
		host Host
		says bool
	}{{bare, true}, {machine("", "ssh"), false}} {
		if r := tc.host.alone(&Machine{Host: "a"}); tc.says != strings.Contains(fmt.Sprint(r.Problems), "there is no ssh here") || len(r.Firewall) != 3 {
			t.Errorf("%+v", r)
		}
	}
}

// reportOf returns a report of machines called a, b, … with these rates between them.
func reportOf(rates ...[]float64) *Report {
	r := &Report{Problems: []Problem{}}
	for i, row := range rates {
		r.Machines = append(r.Machines, &Machine{Rank: i, Host: string(rune('a' + i)), Address: fmt.Sprintf("192.168.100.%d", 100+i), Line: "enp0s31f6", MTU: 1500, Cores: 128, Memory: 1 << 40,
			Secret: Secret{Place: "/home/somebody/.config/capgnn/secret", Mode: "0600"}})
		for j, x := range row {
			if i != j {
				r.Pairs = append(r.Pairs, Pair{i, j, x, 200 * time.Microsecond, 1500})
			}
		}
	}
	return r
}

// Slow lines, far machines and different MTUs are named; equal ones are not.
func TestJudge(t *testing.T) {
	const mb = 1e6
	for _, tc := range []struct {
		name   string
		rates  [][]float64
		change func(r *Report)
		says   string
	}{
		{"equal", [][]float64{{0, 110 * mb}, {100 * mb, 0}}, nil, ""},
		{"half as fast", [][]float64{{0, 110 * mb}, {50 * mb, 0}}, nil, ""},
		{"one direction", [][]float64{{0, 110 * mb}, {10 * mb, 0}}, nil, "rows go from rank 1 to rank 0 at 9.5 MiB/s, elsewhere at 105 MiB/s"},
		{"one machine", [][]float64{{0, 1000 * mb}, {10 * mb, 0}}, func(r *Report) { r.Machines[1].Host = "a" }, ""},
		{"far", [][]float64{{0, mb}, {mb, 0}}, func(r *Report) { r.Pairs[0].RoundTrip = 30 * time.Millisecond }, "a message between ranks 0 and 1 and its answer take 30.0 ms"},
		{"MTU", [][]float64{{0, mb}, {mb, 0}}, func(r *Report) { r.Pairs[0].MTU = 9000 }, "different MTUs"},
		{"MTU of an interface", [][]float64{{0, mb}, {mb, 0}}, func(r *Report) { r.Machines[1].MTU = 9000 }, "different MTUs"},
		{"MTU not known", [][]float64{{0, mb}, {mb, 0}}, func(r *Report) { r.Pairs[0].MTU = 0 }, ""},
	} {
		r := reportOf(tc.rates...)
		if tc.change != nil {
			tc.change(r)
		}
		r.judge()
		got := fmt.Sprint(r.Problems)
		if tc.says == "" && len(r.Problems) > 0 || !strings.Contains(got, tc.says) || len(r.Problems) > 1 {
			t.Errorf("%s: %s, want %q", tc.name, got, tc.says)
		}
	}
}

// A report is as wide as a terminal, also of many ranks, and short then.
func TestWidth(t *testing.T) {
	rates := make([][]float64, 12)
	for i := range rates {
		rates[i] = make([]float64, 12)
		for j := range rates[i] {
			rates[i][j] = float64(1+i+j) * 1e8
		}
	}
	for _, r := range []*Report{reportOf(rates[:2]...), reportOf(rates...)} {
		r.Firewall = bare.rules("29500")
		var b bytes.Buffer
		if err := r.Print(&b); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		for _, line := range lines {
			if len([]rune(line)) > 80 {
				t.Errorf("%d columns: %s", len([]rune(line)), line)
			}
		}
		if len(lines) > 100 {
			t.Errorf("%d lines", len(lines))
		}
		for _, want := range []string{"192.168.100.101", "nothing is wrong", "secret  /home/somebody", "sudo ufw allow 29500/tcp"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, b.String())
			}
		}
		if many := len(r.Machines) > 2; many != strings.Contains(b.String(), "allow proto tcp from") || many != strings.Contains(b.String(), "the 56 slowest of 132 ways") {
			t.Errorf("%s", b.String())
		}
	}
}

// What other ranks say they found is looked at before it is used.
func TestFindings(t *testing.T) {
	m := &Machine{Rank: 1}
	for i, f := range []finding{{}, {Machine: &Machine{}}, {Machine: m, Pairs: []Pair{{From: 0, To: 1}}}, {Machine: m, Pairs: []Pair{{From: 1, To: 2}}}, {Machine: m, Pairs: []Pair{{From: 1, To: -1}}}, {Machine: m, Pairs: []Pair{{From: 1, To: 1}}}} {
		if f.of(1, 2) {
			t.Errorf("%d: %+v", i, f)
		}
	}
	if !(finding{Machine: m, Pairs: []Pair{{From: 1, To: 0}}}).of(1, 2) {
		t.Error("what is right was refused")
	}
}
