package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"taximeter/checkpoint"
)

// Check proves that the store can be written, read and deleted from, and that it honours
// conditional puts: some servers that speak S3 take them and write anyway, and two nodes
// would then own the same partition. key must be the caller's alone; it is gone afterwards.
func Check(ctx context.Context, st checkpoint.Store, key string) (err error) {
	if err := st.Put(ctx, key, bytes.NewReader([]byte("first"))); err != nil {
		return fmt.Errorf("the checkpoint store cannot be written: %w", err)
	}
	defer func() {
		if e := st.Delete(ctx, key); e != nil {
			err = errors.Join(err, fmt.Errorf("the checkpoint store does not allow deleting: %w", e))
		}
	}()
	twice, err := st.PutIfAbsent(ctx, key, bytes.NewReader([]byte("second")))
	if err != nil {
		return fmt.Errorf("the checkpoint store refuses conditional puts: %w", err)
	}
	stale, err := st.PutIfMatch(ctx, key, `"00000000000000000000000000000000"`, bytes.NewReader([]byte("third")))
	if err != nil {
		return fmt.Errorf("the checkpoint store refuses conditional replacement: %w", err)
	}
	data, err := checkpoint.ReadAll(ctx, st, key)
	if err != nil {
		return fmt.Errorf("the checkpoint store cannot be read: %w", err)
	}
	if twice.Stored || stale.Stored || string(data) != "first" {
		return fmt.Errorf("the checkpoint store ignores the conditions of conditional puts (If-None-Match, If-Match): "+
			"exactly-once is impossible on it; %q lies where %q was written first", data, "first")
	}
	return nil
}
