package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// PlanetoidURL is where Fetch finds Planetoid files unless FetchOptions says otherwise: the authors' repository at the
// commit that the checksums below were taken from.
const PlanetoidURL = "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"

// FetchOptions says where from and how. The zero value is usable.
type FetchOptions struct {
	BaseURL string       // folder of the files; "" = PlanetoidURL
	Client  *http.Client // nil: one that gives up after 5 s without a connection or an answer
	// Proxy chooses the proxy of the default client, as http.ProxyFromEnvironment does; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Progress is called after each piece, with bytes done and bytes in all, from the goroutine that called Fetch.
	Progress func(done, total int64)
}

// remoteFile is a file with what it must be.
type remoteFile struct {
	name   string
	bytes  int64
	sha256 string
}

// planetoidCora are the eight files of the data set planetoid_cora.
var planetoidCora = []remoteFile{
	{"ind.cora.allx", 257305, "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543"},
	{"ind.cora.ally", 47959, "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71"},
	{"ind.cora.graph", 59847, "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d"},
	{"ind.cora.test.index", 5000, "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875"},
	{"ind.cora.tx", 148025, "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a"},
	{"ind.cora.ty", 28135, "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad"},
	{"ind.cora.x", 22119, "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab"},
	{"ind.cora.y", 4054, "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1"},
}

// Fetch downloads the data set of this name into a new folder of root and returns its path, root/NAME. If the folder is
// there already, nothing is downloaded. Every file is checked by size and SHA-256; the folder appears only when it is
// complete. The only name so far is planetoid_cora (0.6 MB). ctx bounds the whole download.
func Fetch(ctx context.Context, name, root string, opt FetchOptions) (path string, err error) {
	if name != "planetoid_cora" {
		return "", fmt.Errorf("fetch %q: only planetoid_cora can be fetched", name)
	}
	path = filepath.Join(root, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(root, "."+name+".*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp) // after the rename there is nothing left under this name
	if err := fetchAll(ctx, planetoidCora, tmp, opt); err != nil {
		return "", fmt.Errorf("fetch %s: %w", name, err)
	}
	if err := errors.Join(os.Chmod(tmp, 0o755), syncAll(tmp)); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, path); err != nil {
		if _, serr := os.Stat(path); serr == nil {
			return path, nil // another process was faster
		}
		return "", err
	}
	return path, nil
}

func fetchAll(ctx context.Context, files []remoteFile, dir string, opt FetchOptions) error {
	base, client := opt.BaseURL, opt.Client
	if base == "" {
		base = PlanetoidURL
	}
	if client == nil {
		const wait = 5 * time.Second
		client = &http.Client{Transport: &http.Transport{
			Proxy:                 opt.Proxy,
			DialContext:           (&net.Dialer{Timeout: wait}).DialContext,
			TLSHandshakeTimeout:   wait,
			ResponseHeaderTimeout: wait,
		}}
		defer client.CloseIdleConnections()
	}
	var done, total int64
	for _, f := range files {
		total += f.bytes
	}
	for _, f := range files {
		report := func(n int64) {
			if done += n; opt.Progress != nil {
				opt.Progress(done, total)
			}
		}
		if err := fetchFile(ctx, client, strings.TrimSuffix(base, "/")+"/"+f.name, filepath.Join(dir, f.name), f, report); err != nil {
			return err
		}
	}
	return nil
}

// fetchFile downloads one file, at most its known size, and checks it.
func fetchFile(ctx context.Context, client *http.Client, from, path string, want remoteFile, report func(n int64)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", from, resp.Status)
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, hash, counter(report)), io.LimitReader(resp.Body, want.bytes+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); n != want.bytes || sum != want.sha256 {
		return fmt.Errorf("%s: is not the published file: %d bytes with SHA-256 %.12s…, want %d with %.12s…", from, n, sum, want.bytes, want.sha256)
	}
	return nil
}

// counter is a writer that reports how much was written.
type counter func(n int64)

func (c counter) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}
