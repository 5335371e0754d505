// Package progtest runs the program for tests of cmd/capgnn and of packages below it. Only test files import it.
//
// Its nouns: a Sandbox, a folder to run the program in; a Store, a small data set; a RankRun, a command over several
// ranks of this machine. [Main] builds the program before the tests of a package and removes it behind them:
//
//	func TestMain(m *testing.M) { progtest.Main(m, nil) }
//
//	func TestTrains(t *testing.T) {
//		s := progtest.NewSandbox(t)
//		progtest.NewStore().Write(s, "ok.npz")
//		s.Train("--dataset", "ok.npz", "--epochs", "2")
//	}
package progtest
