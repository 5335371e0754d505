// Package programs draws random programs for tests. Draw makes the text of one; equal seeds make equal texts.
package programs
