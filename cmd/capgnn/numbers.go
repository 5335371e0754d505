package main

import "capgnn/internal/number"

// Short names of how this program writes numbers (package number).

// size writes an amount of bytes.
func size[T ~int64](b T) string { return number.Bytes.Text(float64(b)) }

// duration writes seconds, - where there are none.
func duration(s *float64) string { return number.Seconds.Or(s) }

// score writes a metric, - where there is none.
func score(x *float64) string { return number.Score.Or(x) }

// percentage writes a share.
func percentage(x float64) string { return number.Share.Text(x) }

// counted writes how many there are of a thing: 1 part, 2 parts.
func counted(n int, what string) string { return number.Counted(n, what) }

// grouped writes a count.
func grouped[T ~int | ~int32 | ~int64](n T) string { return number.Grouped(int64(n)) }
