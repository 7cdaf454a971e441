//go:build !js && !wasip1

package kvs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"testing"

	"example.com/kvs/kvstest"
)

// The examples run against a gateway of their own. Where there is none they are left out, but not under CI.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	gateway, err := kvstest.Run(context.Background(), "notes", "users")
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		fmt.Println("the examples are skipped:", err)
		_ = flag.Set("test.skip", "^Example")
		return m.Run()
	}
	if err != nil {
		log.Print(err)
		return 1
	}
	defer gateway.Close()
	for name, value := range gateway.Environ() {
		_ = os.Setenv(name, value)
	}
	return m.Run()
}
