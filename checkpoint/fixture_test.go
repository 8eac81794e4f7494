package checkpoint_test

import "context"

var ctx = context.Background()
