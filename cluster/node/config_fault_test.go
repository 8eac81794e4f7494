package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigurationFaultsAreTold(t *testing.T) {
	for text, want := range map[string]string{
		"broker: a:1":                       `F line 1: unknown key "broker"; did you mean "kafka.brokers"?`,
		"kafka:\n  broker: a:1":             `F line 2: unknown key "broker"; did you mean "brokers"?`,
		"node_id: a":                        `F line 1: unknown key "node_id"; did you mean "nodeId"?`,
		"registry:\n  adress: http://r":     `F line 2: unknown key "adress"; known here are url, user, password, passwordFile, tls`,
		"checkpoint:\n  interval: soon":     `F line 2: not a duration such as 30s: "soon"`,
		"checkpoint:\n  retain: many":       `F line 2: not a whole number: "many"`,
		"kafka: k:9092":                     `F line 1: not a section of keys: "k:9092"`,
		"kafka:\n  brokers: k:9092":         `F line 2: not a list: "k:9092"`,
		"data: x\nnamespac: y\nnodeid: z":   "F line 2: unknown key \"namespac\"; did you mean \"namespace\"?\nconfiguration F line 3: unknown key \"nodeid\"; did you mean \"nodeId\"?",
		"alerts:\n  channels:\n  - nam: x":  `F line 3: unknown key "nam"; did you mean "name"?`,
		"alerts:\n  channels: x":            `F line 2: not a list: "x"`,
		"kinds: [a]":                        `F line 1: unknown key "kinds"; did you mean "alerts.channels[].kinds"?`,
		"store:\n  s3:\n    pathstyle: yes": `F line 3: unknown key "pathstyle"; did you mean "pathStyle"?`,
	} {
		path := filepath.Join(t.TempDir(), "taximeter.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if err == nil || strings.ReplaceAll(err.Error(), path, "F") != "configuration "+want {
			t.Errorf("%q:\n got %v\nwant configuration %s", text, err, want)
		}
	}
}
