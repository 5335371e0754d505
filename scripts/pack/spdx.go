package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// document is the part of SPDX 2.3 in JSON that describes a program of Go modules.
type document struct {
	SPDXVersion   string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Comment       string         `json:"comment"`
	Creation      creation       `json:"creationInfo"`
	Packages      []component    `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// component is a package of SPDX: the program, Go's library, or a module.
type component struct {
	ID            string        `json:"SPDXID"`
	Name          string        `json:"name"`
	Version       string        `json:"versionInfo"`
	File          string        `json:"packageFileName,omitempty"`
	Location      string        `json:"downloadLocation"`
	FilesAnalyzed bool          `json:"filesAnalyzed"`
	SourceInfo    string        `json:"sourceInfo,omitempty"`
	License       string        `json:"licenseDeclared,omitempty"`
	Purpose       string        `json:"primaryPackagePurpose"`
	Checksums     []checksum    `json:"checksums,omitempty"`
	External      []externalRef `json:"externalRefs"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"` // hexadecimal
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// spdx returns the document of a program: what `go version -m` prints. name is that of the archive, file that of the program in it.
// A module without a checksum, as one that a folder replaces, is an error.
func spdx(info *buildinfo.BuildInfo, name, file string, sum [32]byte, at time.Time) (*document, error) {
	hash := hex.EncodeToString(sum[:])
	program := moduleOf(info.Main.Path, info.Main.Version, "APPLICATION")
	program.File, program.License, program.Checksums = file, "Apache-2.0", []checksum{{"SHA256", hash}}
	program.SourceInfo = fmt.Sprintf("commit %s, built by %s for %s/%s", setting(info, "vcs.revision"), info.GoVersion, setting(info, "GOOS"), setting(info, "GOARCH"))
	library := moduleOf("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "LIBRARY")
	d := &document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://spdx.org/spdxdocs/" + name + "-" + hash,
		Comment:   "SHA256 is that of the file for the program. For modules it is the h1 sum of go.sum, the SHA-256 of the list of the sums of a module's files.",
		Creation:  creation{at.Format(time.RFC3339), []string{"Tool: capgnn-pack-" + info.Main.Version}},
		Packages:  []component{program, library},
	}
	for _, m := range info.Deps {
		encoded, ok := strings.CutPrefix(m.Sum, "h1:")
		h1, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(h1) != 32 || m.Replace != nil {
			return nil, fmt.Errorf("module %s %s has no h1 sum, but %q", m.Path, m.Version, m.Sum)
		}
		c := moduleOf(m.Path, m.Version, "LIBRARY")
		c.Checksums = []checksum{{"SHA256", hex.EncodeToString(h1)}}
		d.Packages = append(d.Packages, c)
	}
	d.Relationships = []relationship{{d.ID, "DESCRIBES", program.ID}}
	for _, c := range d.Packages[1:] {
		d.Relationships = append(d.Relationships, relationship{program.ID, "DEPENDS_ON", c.ID})
	}
	return d, nil
}

// notInID is what identifiers of SPDX may not have.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// moduleOf returns a Go module as a component, with its package URL.
func moduleOf(path, version, purpose string) component {
	// Names of Go packages are in lower case in package URLs; a plus, as of +incompatible, is escaped.
	purl := "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(url.PathEscape(version), "+", "%2B")
	return component{
		ID: "SPDXRef-" + notInID.ReplaceAllString(path+"-"+version, "-"), Name: path, Version: version, Location: "NOASSERTION",
		Purpose: purpose, External: []externalRef{{"PACKAGE-MANAGER", "purl", purl}},
	}
}
