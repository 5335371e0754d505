// Package contentkey names what is made of things by a hash of them.
//
// # Contract
//
// Equal things have equal keys, in every run and on every machine of the same byte order; arrays count by their elements, anything else as
// fmt prints it. What the key is for is hashed first: keys of different things differ.
//
// # Usage
//
//	key := contentkey.Of("cut 2", graphKey, layers, part)
package contentkey
