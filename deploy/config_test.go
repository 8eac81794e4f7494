package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"
	"go.yaml.in/yaml/v3"

	"taximeter/cluster/node"
)

const example = "systemd/taximeter.env.example"

// load is what `taximeter node` does with a file ("" = none) and variables.
func load(t *testing.T, path string, variables map[string]string) node.Config {
	t.Helper()
	for name, value := range variables {
		t.Setenv(name, value)
	}
	c, err := node.Load(path)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// credentials never stand in a file of configuration.
var credentials = map[string]string{"TAXIMETER_STORE_S3_ACCESS_KEY": "key", "TAXIMETER_STORE_S3_SECRET_KEY": "secret"}

// assignments are the NAME=value lines of an environment file.
func assignments(t *testing.T, path string) map[string]string {
	vars := map[string]string{}
	for _, line := range strings.Split(read(t, path), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			vars[name] = value
		}
	}
	return vars
}

func TestExampleLoads(t *testing.T) {
	c := load(t, "taximeter.yaml", assignments(t, example))
	if c.Store.S3.SecretKey == "" || len(c.Cluster.Keys) != 1 || c.Cluster.Advertise == "" {
		t.Errorf("the example leaves gaps: %+v", c)
	}
}

// What is commented out in the example is said to be the default: it must be, under the keys
// that exist.
func TestExampleTellsDefaults(t *testing.T) {
	var shown []string
	for _, line := range strings.Split(read(t, "taximeter.yaml"), "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "# "); ok && regexp.MustCompile(`^ *[a-zA-Z0-9]+:`).MatchString(rest) {
			line = line[:strings.Index(line, "# ")] + rest
		}
		shown = append(shown, line)
	}
	path := filepath.Join(t.TempDir(), "taximeter.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(shown, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	commented, whole := load(t, "taximeter.yaml", credentials), load(t, path, credentials)
	if a, b := dump(t, commented), dump(t, whole); a != b {
		t.Errorf("the example with and without its commented lines differs:\n%s\n%s", a, b)
	}
}

func dump(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestComposeNodesLoad(t *testing.T) {
	var compose struct {
		Services map[string]struct{ Environment map[string]string }
	}
	readYAML(t, "compose.yaml", &compose)
	nodes := 0
	for name, service := range compose.Services {
		if service.Environment["TAXIMETER_NODE_ID"] == "" {
			continue
		}
		nodes++
		t.Run(name, func(t *testing.T) {
			vars := maps.Clone(service.Environment)
			for k, v := range vars {
				vars[k] = strings.ReplaceAll(v, "${BOOTSTRAP:-false}", "true")
			}
			c := load(t, "", vars)
			if c.NodeID != name || c.Cluster.Remote != name+":7947" || c.Cluster.Bootstrap != (name == "node-1") {
				t.Errorf("mixed up: %+v", c.Cluster)
			}
		})
	}
	if nodes != 3 {
		t.Errorf("%d nodes, want 3", nodes)
	}
}

func TestChartConfigurationLoads(t *testing.T) {
	var defaults, installation struct{ Config map[string]any }
	readYAML(t, "helm/taximeter/values.yaml", &defaults)
	readYAML(t, "helm/taximeter/ci/three-nodes-values.yaml", &installation)
	path := filepath.Join(t.TempDir(), "taximeter.yaml")
	if err := os.WriteFile(path, []byte(dump(t, overlay(defaults.Config, installation.Config))), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, path, credentials)
	if c.Namespace != "taximeter" || c.Store.S3.Bucket == "" {
		t.Errorf("the chart's configuration is not the installation's over the defaults: %+v", c)
	}
}

// overlay lays b over a as Helm does: maps by key, all else whole.
func overlay(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for k, v := range b {
		below, ok1 := out[k].(map[string]any)
		above, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			v = overlay(below, above)
		}
		out[k] = v
	}
	return out
}

func TestVariablesExist(t *testing.T) {
	var c node.Config
	fields, err := env.GetFieldParamsWithOptions(&c, env.Options{Prefix: "TAXIMETER_"})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range fields {
		known[f.Key] = true
	}
	named := 0
	for path, text := range files(t) {
		for _, name := range regexp.MustCompile(`TAXIMETER_[A-Z0-9_]*[A-Z0-9]`).FindAllString(text, -1) {
			named++
			if !known[name] {
				t.Errorf("%s: there is no variable %s", path, name)
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d variables found: the search went wrong", named)
	}
}
