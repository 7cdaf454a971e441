// Package kvstest starts a gateway for tests: the real one, in memory, by the command kvs-gateway dev.
//
//	func TestNotesAreKept(t *testing.T) {
//		kvstest.Start(t, "notes").Setenv(t)
//		notes, err := kvs.FromEnv(t.Context(), "notes")
//		...
//	}
//
// The command is found on PATH, or set by KVS_GATEWAY_COMMAND, with optional arguments. A gateway takes about a second
// to start: the tests of a package can share one that TestMain starts with [Run].
package kvstest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// CommandVariable holds the command to run instead of kvs-gateway.
const CommandVariable = "KVS_GATEWAY_COMMAND"

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
)

// Gateway is a running kvs-gateway dev with its own tables.
type Gateway struct {
	process   *exec.Cmd
	variables map[string]string
}

// Start starts a gateway with these tables and stops it when the test ends. If it cannot start, the test fails.
func Start(t testing.TB, tables ...string) *Gateway {
	t.Helper()
	gateway, err := Run(t.Context(), tables...)
	if err != nil {
		t.Fatalf("kvstest: %v", err)
	}
	t.Cleanup(func() {
		if err := gateway.Close(); err != nil {
			t.Errorf("kvstest: %v", err)
		}
	})
	return gateway
}

// Run starts a gateway with these tables; Close stops it. The context applies only to the start.
func Run(ctx context.Context, tables ...string) (*Gateway, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	gateway, err := launch(ctx)
	if err != nil {
		return nil, err
	}
	if err := gateway.createTables(ctx, tables); err != nil {
		return nil, errors.Join(err, gateway.Close())
	}
	return gateway, nil
}

// Environ returns the variables that the platform sets for a function, with the credentials of its role.
func (g *Gateway) Environ() map[string]string {
	return maps.Clone(g.variables)
}

// Setenv sets the variables of Environ for the test, and unsets those that would override them.
func (g *Gateway) Setenv(t testing.TB) {
	t.Helper()
	for _, name := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	for name, value := range g.variables {
		t.Setenv(name, value)
	}
}

// Close stops the gateway and waits until it has ended.
func (g *Gateway) Close() error {
	if err := g.process.Process.Signal(os.Interrupt); err != nil {
		_ = g.process.Process.Kill() // for systems without signals
	}
	killer := time.AfterFunc(stopTimeout, func() { _ = g.process.Process.Kill() })
	defer killer.Stop()
	if err := g.process.Wait(); err != nil {
		return fmt.Errorf("the gateway did not stop cleanly: %w", err)
	}
	return nil
}

func launch(ctx context.Context) (*Gateway, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	words := append(command(), "dev", "--port", strconv.Itoa(port))
	process := exec.Command(words[0], words[1:]...) //nolint:gosec // the command comes from the tester
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	process.Stderr = &log
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started (pip install kvs-gateway, or set %s): %w", words[0], CommandVariable, err)
	}
	stopped := context.AfterFunc(ctx, func() { _ = process.Process.Kill() })
	defer stopped()
	variables, err := readExports(output)
	if err != nil {
		_ = process.Process.Kill()
		return nil, fmt.Errorf("%w: %w: %s", err, process.Wait(), log.Bytes())
	}
	return &Gateway{process, variables}, nil
}

func command() []string {
	if words := strings.Fields(os.Getenv(CommandVariable)); len(words) > 0 {
		return words
	}
	return []string{"kvs-gateway"}
}

// readExports reads the shell lines that dev prints when it listens, up to the example call.
func readExports(output io.Reader) (map[string]string, error) {
	variables := map[string]string{}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		if name, value, is := strings.Cut(strings.TrimPrefix(line, "export "), "="); is && strings.HasPrefix(line, "export ") {
			variables[name] = strings.Trim(value, "'")
		}
		if strings.HasSuffix(line, "/v1/put") {
			return variables, nil
		}
	}
	return nil, errors.New("the gateway ended before it was ready")
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
