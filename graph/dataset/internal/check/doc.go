// Package check bounds and checks numbers that come from files.
//
// Its nouns: limits of what a file may state (MaxDim, MaxCols, MaxClasses); CSR and FirstNotFinite, which say where the first
// fault lies; CountTrue and CountOf.
//
// # Contract
//
// Nothing here reads a file, changes an array or panics on what is in one. Long arrays are checked on all cores; the fault that is
// returned is the first one, whichever core finds it.
package check
