package node

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"taximeter/cluster/gossip"
)

// keys are the gossip's: of the file if there is one, else of the configuration.
func (c Cluster) keys() ([][]byte, error) {
	if c.KeysFile == "" {
		return decodeKeys(c.Keys)
	}
	text, err := os.ReadFile(c.KeysFile)
	if err != nil {
		return nil, err
	}
	keys, err := decodeKeys(strings.Fields(strings.ReplaceAll(string(text), ",", " ")))
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("%s holds no key", c.KeysFile)
	}
	return keys, err
}

func decodeKeys(texts []string) ([][]byte, error) {
	var keys [][]byte
	for i, text := range texts {
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != 16 && len(key) != 24 && len(key) != 32 {
			return nil, fmt.Errorf("key %d is not 16, 24 or 32 bytes in hexadecimal", i)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// keysEvery is how often the file of keys is looked at. Its content is compared, not its
// date: mounted secrets are swapped by links.
const keysEvery = time.Second

// followKeys turns the gossip's keys when their file changes. A file that is no list of
// keys changes nothing.
func (n *Node) followKeys(g *gossip.Gossip, now [][]byte) {
	tick := time.NewTicker(keysEvery)
	defer tick.Stop()
	told := ""
	for {
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return
		}
		keys, err := n.cfg.Cluster.keys()
		if err == nil && equalKeys(keys, now) {
			told = ""
			continue
		}
		if err == nil {
			err = g.SetKeys(keys)
		}
		switch {
		case err == nil:
			now, told = keys, ""
			n.log.Info("gossip keys changed; the first one encrypts", "file", n.cfg.Cluster.KeysFile, "keys", len(keys))
		case err.Error() != told:
			told = err.Error()
			n.log.Error("gossip keys stay as they were", "file", n.cfg.Cluster.KeysFile, "err", err)
		}
	}
}

func equalKeys(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }
