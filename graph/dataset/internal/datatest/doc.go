// Package datatest holds what tests of several formats need: small data sets, folders and archives of given content, and damage.
//
// Its nouns: Tiny data sets of every shape; Put, PutText, NPZ and Gzip make files, With replaces an array; Equal compares data
// sets; Damaged loads one of which a file is damaged.
//
// # Contract
//
// Files lie in folders of the test, which removes them. Only tests import this package.
package datatest
