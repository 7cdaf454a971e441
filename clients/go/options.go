package kvs

import (
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Option changes one setting of a client; clients/README.md of the gateway has them all.
type Option func(*settings)

type settings struct {
	deadline       time.Duration
	attempt        time.Duration
	connections    int
	backoff        backoff
	answerBytes    int
	prefix         string
	variablePrefix string
	environment    func(string) (string, bool)
	credentials    aws.CredentialsProvider
}

func defaults() settings {
	return settings{
		deadline:       10 * time.Second,
		attempt:        5 * time.Second,
		connections:    64,
		backoff:        backoff{base: 100 * time.Millisecond, cap: time.Second},
		answerBytes:    1 << 20,
		variablePrefix: "SERVICE",
		environment:    os.LookupEnv,
	}
}

// WithDeadline limits a whole call: finding credentials, waiting for a connection, all attempts and pauses (10 s).
// The context of a call can only shorten it.
func WithDeadline(deadline time.Duration) Option {
	return func(s *settings) { s.deadline = deadline }
}

// WithAttempt limits one attempt, from connecting to the last byte of the answer (5 s).
func WithAttempt(attempt time.Duration) Option {
	return func(s *settings) { s.attempt = attempt }
}

// WithConnections limits the open connections, and so the concurrent attempts (64).
func WithConnections(connections int) Option {
	return func(s *settings) { s.connections = connections }
}

// WithBackoffBase sets the longest pause before the first retry (100 ms), which doubles for each further one.
func WithBackoffBase(base time.Duration) Option {
	return func(s *settings) { s.backoff.base = base }
}

// WithBackoffCap sets the longest pause before any retry (1 s).
func WithBackoffCap(limit time.Duration) Option {
	return func(s *settings) { s.backoff.cap = limit }
}

// WithAnswerBytes limits the body of an answer (1 MiB).
func WithAnswerBytes(length int) Option {
	return func(s *settings) { s.answerBytes = length }
}

// WithPrefix adds a prefix to every key.
func WithPrefix(prefix string) Option {
	return func(s *settings) { s.prefix = prefix }
}

// WithVariablePrefix sets the first word of the three variables (SERVICE).
func WithVariablePrefix(prefix string) Option {
	return func(s *settings) { s.variablePrefix = prefix }
}

// WithEnvironment replaces the lookup of the three variables (os.LookupEnv). It does not affect credentials.
func WithEnvironment(lookup func(name string) (value string, found bool)) Option {
	return func(s *settings) { s.environment = lookup }
}

// WithCredentials replaces the credential chain of the SDK, for example by an assumed role. The provider is called
// again when its credentials expire.
func WithCredentials(provider aws.CredentialsProvider) Option {
	return func(s *settings) { s.credentials = provider }
}

func (s *settings) check() error {
	for name, number := range map[string]int64{
		"WithDeadline":    int64(s.deadline),
		"WithAttempt":     int64(s.attempt),
		"WithConnections": int64(s.connections),
		"WithBackoffBase": int64(s.backoff.base),
		"WithBackoffCap":  int64(s.backoff.cap),
		"WithAnswerBytes": int64(s.answerBytes),
	} {
		if number <= 0 {
			return misconfigured(codeInvalidOption, "%s: %d, expected a positive number", name, number)
		}
	}
	return nil
}
