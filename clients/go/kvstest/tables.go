package kvstest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
)

// The app of the tables, with a limit that no test reaches.
const (
	appPath           = "/v1/orgs/test/apps/test"
	requestsPerMinute = 1_000_000_000
)

// createTables registers the app and its tables, and adds their variables.
func (g *Gateway) createTables(ctx context.Context, tables []string) error {
	app := map[string]any{"type": "api", "requests_per_minute": requestsPerMinute, "max_tables": max(1, len(tables))}
	if _, err := g.manage(ctx, http.MethodPut, appPath, app); err != nil {
		return err
	}
	for _, table := range tables {
		created, err := g.manage(ctx, http.MethodPost, appPath+"/services/kvs/tables", map[string]any{"name": table})
		if err != nil {
			return err
		}
		maps.Copy(g.variables, created.Runtime)
	}
	return nil
}

type managed struct {
	Runtime map[string]string `json:"runtime"`
}

func (g *Gateway) manage(ctx context.Context, method, path string, fields any) (managed, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return managed{}, err
	}
	request, err := http.NewRequestWithContext(ctx, method, g.variables["KVS_CONTROL_URL"]+path, bytes.NewReader(body))
	if err != nil {
		return managed{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+g.variables["KVS_CONTROL_TOKEN"])
	response, err := control.Do(request)
	if err != nil {
		return managed{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return managed{}, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return managed{}, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, response.Header.Get("X-Kvs-Error-Detail"))
	}
	var done managed
	return done, json.Unmarshal(answer, &done)
}

// control calls the gateway directly: proxies of the environment are ignored.
var control = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
