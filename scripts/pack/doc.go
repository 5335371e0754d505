// Command pack makes an archive of each folder that scripts/release fills, beside it a wheel with the Python package and the program,
// and a list of what the program was made of.
//
// Its nouns: a member is a file of an archive; a document is a software bill of materials in SPDX 2.3, read from what the Go tools
// write into a program.
//
// Equal folders give equal bytes, whatever machine packs them: members are sorted by name, have the time of the commit of which
// the program was built, the modes 0755 or 0644, and no owner.
//
// Usage, in the module's folder, since `go list` finds the licenses of modules there:
//
//	pack FOLDER...
//
// FOLDER holds capgnn or capgnn.exe, built with -buildvcs=true. It becomes FOLDER.tar.gz, or FOLDER.zip for capgnn.exe, with
// THIRD-PARTY-LICENSES among its files, and FOLDER.spdx.json. The wheel lies in the same folder under the name that pip wants.
package main
