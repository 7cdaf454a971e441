package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/kvs"
)

const makeTime = 200 * time.Millisecond

// session is the client that was opened last, with the errors of its calls.
type session struct {
	client *kvs.Client
	made   atomic.Int64
	guard  sync.Mutex
	errors []error
}

func (s *session) open(ctx context.Context, asked line) error {
	for name, value := range asked.Environment {
		if err := setVariable(name, value); err != nil {
			return err
		}
	}
	s.client = nil
	s.made.Store(0)
	s.errors = nil
	options, err := optionsOf(asked.Options)
	if err != nil {
		return err
	}
	client, err := kvs.FromEnv(ctx, asked.Table, options...)
	if err != nil {
		s.errors = []error{err}
		return err
	}
	s.client = client
	return nil
}

func setVariable(name string, value *string) error {
	if value == nil {
		return os.Unsetenv(name)
	}
	return os.Setenv(name, *value)
}

func optionsOf(named map[string]any) ([]kvs.Option, error) {
	var options []kvs.Option
	for name, value := range named {
		number, _ := value.(float64)
		text, _ := value.(string)
		switch name {
		case "deadline_seconds":
			options = append(options, kvs.WithDeadline(seconds(number)))
		case "attempt_seconds":
			options = append(options, kvs.WithAttempt(seconds(number)))
		case "connections":
			options = append(options, kvs.WithConnections(int(number)))
		case "backoff_base_seconds":
			options = append(options, kvs.WithBackoffBase(seconds(number)))
		case "backoff_cap_seconds":
			options = append(options, kvs.WithBackoffCap(seconds(number)))
		case "answer_bytes":
			options = append(options, kvs.WithAnswerBytes(int(number)))
		case "prefix":
			options = append(options, kvs.WithPrefix(text))
		case "variable_prefix":
			options = append(options, kvs.WithVariablePrefix(text))
		default:
			return nil, fmt.Errorf("unknown option: %s", name)
		}
	}
	return options, nil
}

func seconds(number float64) time.Duration { return time.Duration(number * float64(time.Second)) }

func (s *session) call(ctx context.Context, asked line) (any, error) {
	client := s.client.WithPrefix(asked.Prefix)
	if asked.Deadline != 0 {
		client = client.WithDeadline(seconds(asked.Deadline))
	}
	result, err := s.perform(ctx, client, asked)
	if err != nil {
		s.guard.Lock()
		defer s.guard.Unlock()
		s.errors = append(s.errors, err)
	}
	return result, err
}

func (s *session) perform(ctx context.Context, client *kvs.Client, asked line) (any, error) {
	ttl := seconds(asked.TTL)
	switch asked.Op {
	case "put":
		return nil, client.Put(ctx, asked.Key, asked.Value, ttl)
	case "put_raw":
		return nil, client.PutRaw(ctx, asked.Key, asked.Raw, ttl)
	case "get":
		var value any
		entry, err := client.Get(ctx, asked.Key, &value)
		return found(entry, "value", value), err
	case "get_raw":
		entry, err := client.GetRaw(ctx, asked.Key)
		return found(entry, "raw_base64", base64.StdEncoding.EncodeToString(entry.Value)), err
	case "delete":
		return nil, client.Delete(ctx, asked.Key)
	case "get_or_set":
		return kvs.GetOrSet(ctx, client, asked.Key, ttl, func(context.Context) (any, error) {
			s.made.Add(1)
			time.Sleep(makeTime)
			return asked.Make, nil
		})
	default:
		return nil, fmt.Errorf("unknown operation: %s", asked.Op)
	}
}

func found(entry kvs.Entry, name string, value any) map[string]any {
	if !entry.Found {
		return map[string]any{"found": false}
	}
	var expires any
	if !entry.ExpiresAt.IsZero() {
		expires = entry.ExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return map[string]any{"found": true, name: value, "expires_at": expires}
}

// show prints the client and the errors in all common ways.
func (s *session) show() []string {
	s.guard.Lock()
	defer s.guard.Unlock()
	things := []any{s.client, struct{ Client *kvs.Client }{s.client}, struct{ client *kvs.Client }{s.client}}
	if s.client != nil {
		things = append(things, *s.client, struct{ client kvs.Client }{*s.client})
	}
	for _, err := range s.errors {
		things = append(things, err, []error{err}, fmt.Errorf("wrapped: %w", err))
	}
	var texts []string
	for _, thing := range things {
		var lines bytes.Buffer
		slog.New(slog.NewTextHandler(&lines, nil)).Info("shown", "thing", thing)
		slog.New(slog.NewJSONHandler(&lines, nil)).Info("shown", "thing", thing)
		texts = append(texts, fmt.Sprintf("%v\n%+v\n%#v\n%s\n%q\n%s", thing, thing, thing, thing, thing, &lines))
	}
	return texts
}
