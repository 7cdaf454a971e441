{{- /* Ports of exposed listeners other than data and ops, by name, as YAML. */}}
{{- define "kvs-gateway.opened" -}}
{{- $opened := dict }}
{{- if .Values.control.enabled }}{{ $_ := set $opened "control" 8081 }}{{ end }}
{{- if .Values.credentials.enabled }}{{ $_ := set $opened "credentials" 8082 }}{{ end }}
{{- toYaml $opened }}
{{- end }}

{{- /* Content of config.yaml: `config` with the listeners that Services and probes expect. */}}
{{- define "kvs-gateway.configuration" -}}
{{- $opened := include "kvs-gateway.opened" . | fromYaml }}
{{- $host := .Values.host }}
{{- $listen := dict "data" (dict "host" $host "port" 8080) "ops" (dict "host" $host "port" 9090) }}
{{- $_ := set $listen "control" (dict "host" "127.0.0.1" "port" 8081) }}
{{- range $name, $port := $opened }}
{{- $folder := printf "/run/tls/%s" $name }}
{{- $tls := dict "certificate" (printf "%s/tls.crt" $folder) "key" (printf "%s/tls.key" $folder) }}
{{- $_ := set $listen $name (dict "host" $host "port" $port "tls" $tls) }}
{{- end }}
{{- $edge := dict "max_connections" (ternary 400 1500 (not (empty $opened))) "max_in_flight" 200 }}
{{- mergeOverwrite (dict "listen" $listen "edge" $edge) (deepCopy .Values.config) | toYaml }}
{{- end }}

{{- define "kvs-gateway.resources" -}}
{{- $memory := ternary "384Mi" "256Mi" (not (empty (include "kvs-gateway.opened" . | fromYaml))) }}
{{- $usual := dict "requests" (dict "cpu" "1" "memory" $memory) "limits" (dict "memory" $memory) }}
{{- mergeOverwrite $usual (deepCopy .Values.resources) | toYaml }}
{{- end }}

{{- /* preStop, plus the grace (which covers drain and last scrape), plus 20 s of reserve. */}}
{{- define "kvs-gateway.terminationSeconds" -}}
{{- add .Values.preStopSeconds (dig "shutdown" "grace_seconds" 30 .Values.config | ceil) 20 }}
{{- end }}

{{- /* Worst-case memory under hostile clients, in KiB; deploy/README.md, "Size", has the measurements. */}}
{{- define "kvs-gateway.worstMemory" -}}
{{- $config := include "kvs-gateway.configuration" . | fromYaml }}
{{- $connections := int $config.edge.max_connections }}
{{- $inFlight := int $config.edge.max_in_flight }}
{{- $opened := len (include "kvs-gateway.opened" . | fromYaml) }}
{{- $store := 0 }}
{{- if eq $config.store.kind "memory" }}{{ $store = div (int64 ($config.store.max_bytes | default 268435456)) 1024 }}{{ end }}
{{- $connection := add (ternary 215 65 (hasKey $config.listen.data "tls")) (mul 215 $opened) }}
{{- $request := add 340 (mul 64 $opened) }}
{{- add (mul 72 1024) (mul $connections $connection) (mul $inFlight $request) $store }}
{{- end }}
