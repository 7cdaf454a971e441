//go:build js || wasip1

package kvs

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestBrowserIsRefusedWithTheReason(t *testing.T) {
	_, err := FromEnv(context.Background(), "notes")
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != "browser" || !strings.Contains(refused.Detail, "backend apps only") {
		t.Error(err)
	}
}
