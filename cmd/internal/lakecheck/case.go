package lakecheck

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/schemas"
)

// Case is a run that came to its end, for the readers: all paths are absolute.
type Case struct {
	Name       string `json:"name"`
	Events     string `json:"events"` // file of what was sent, in that order
	Partitions int    `json:"partitions"`
	Lake       string `json:"lake"`      // folder of catalog.db, if it is there, and without S3 of the warehouse
	Catalog    string `json:"catalog"`   // postgres:// URL of the lake's; "" = Lake's catalog.db
	S3         *S3    `json:"s3"`        // where the warehouse is; nil = in the folder
	Database   string `json:"database"`  // of the lake's catalog
	Analytics  string `json:"analytics"` // SQLite file, postgres:// URL, or http:// URL of ClickHouse
	Expected   string `json:"expected"`  // folder that simulate wrote
	Published  string `json:"published"` // folder in the form of simulate's, of what was read back
	// Resent: some events may lie in the topics more often than in the file, and so at other
	// offsets than their number in it.
	Resent bool `json:"resent"`
	// Ends are the end offsets of the input topics, by topic and partition.
	Ends map[string][]int64 `json:"ends"`
}

// S3 is a server that the readers ask for what lies there.
type S3 struct {
	Endpoint  string `json:"endpoint"`
	Region    string `json:"region"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`
}

// SetEnds takes the end offsets that a broker told.
func (c *Case) SetEnds(listed kadm.ListedOffsets) error {
	c.Ends = make(map[string][]int64)
	for _, topic := range []string{schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments} {
		for p := range c.Partitions {
			end, ok := listed.Lookup(topic, int32(p))
			if !ok {
				return fmt.Errorf("the broker told no end of %s partition %d", topic, p)
			}
			c.Ends[topic] = append(c.Ends[topic], end.Offset)
		}
	}
	return nil
}

//go:embed check/*.py
var programs embed.FS

// ErrDiffers: the readers found differences, and told them.
var ErrDiffers = errors.New("lake or analytical tables differ from what they must be")

// differs is check.py's exit code for differences; Python ends with 1 when it fails itself.
const differs = 3

// Check has the readers compare the cases. python is an interpreter that has them (see
// .ci/readers); out hears the differences and, in the end, one line of counts. dir is for
// passing files.
func Check(ctx context.Context, python, dir string, cases []Case, out io.Writer) error {
	folder := filepath.Join(dir, "check")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	sub, err := fs.Sub(programs, "check")
	if err != nil {
		return err
	}
	if err := os.CopyFS(folder, sub); err != nil {
		return err
	}
	args := []string{filepath.Join(folder, "check.py")}
	for i := range cases {
		text, err := json.Marshal(&cases[i])
		if err != nil {
			return err
		}
		path := filepath.Join(folder, fmt.Sprintf("case-%d.json", i+1))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == differs {
		return ErrDiffers
	}
	if err != nil {
		return fmt.Errorf("run the readers with %s: %w; .ci/readers/install installs them and prints where", python, err)
	}
	return nil
}
