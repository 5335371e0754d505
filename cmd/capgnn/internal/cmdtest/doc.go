// Package cmdtest is what tests of several packages below cmd/capgnn share. Only test files import it.
//
// Its nouns: a PseudoTerminal, whose other side a test holds; a Screen, what a terminal shows of what was written to it.
package cmdtest
