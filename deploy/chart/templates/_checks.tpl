{{- /* Contradictions between values, which a schema cannot express. All of them are reported in one error. */}}
{{- define "kvs-gateway.checks" -}}
{{- $wrong := concat
    (include "kvs-gateway.checks.required" . | fromYamlArray)
    (include "kvs-gateway.checks.store" . | fromYamlArray)
    (include "kvs-gateway.checks.listeners" . | fromYamlArray)
    (include "kvs-gateway.checks.configuration" . | fromYamlArray)
    (include "kvs-gateway.checks.labels" . | fromYamlArray)
    (include "kvs-gateway.checks.variables" . | fromYamlArray)
    (include "kvs-gateway.checks.routes" . | fromYamlArray) }}
{{- with $wrong }}{{ fail (printf "\n\n- %s\n" (join "\n- " .)) }}{{ end }}
{{- end }}

{{- define "kvs-gateway.checks.required" -}}
{{- $wrong := list }}
{{- if not .Values.image.repository }}{{ $wrong = append $wrong "image.repository: is required" }}{{ end }}
{{- if not .Values.config.region }}{{ $wrong = append $wrong "config.region: is required" }}{{ end }}
{{- if not .Values.config.public_url }}{{ $wrong = append $wrong "config.public_url: is required" }}{{ end }}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) }}
{{- $wrong = append $wrong "serviceAccount.name: is required if serviceAccount.create is false" }}
{{- end }}
{{- toYaml $wrong }}
{{- end }}

{{- define "kvs-gateway.checks.store" -}}
{{- $wrong := list }}
{{- if eq .Values.config.store.kind "memory" }}
{{- if ne (int .Values.replicas) 1 }}{{ $wrong = append $wrong "replicas: must be 1 with the memory store, because each replica would have its own data" }}{{ end }}
{{- if .Values.autoscaling.enabled }}{{ $wrong = append $wrong "autoscaling.enabled: must be false with the memory store, because each replica would have its own data" }}{{ end }}
{{- end }}
{{- $counters := .Values.config.counters | default dict }}
{{- if and (eq "memory" (toString $counters.kind)) (or (gt (int .Values.replicas) 1) .Values.autoscaling.enabled) }}
{{- $wrong = append $wrong "config.counters.kind: must not be memory with several replicas, because each would grant the whole rate limit" }}
{{- end }}
{{- if gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas) }}
{{- $wrong = append $wrong "autoscaling.minReplicas: must be at most autoscaling.maxReplicas" }}
{{- end }}
{{- if and .Values.autoscaling.inFlight.enabled (not .Values.autoscaling.enabled) }}
{{- $wrong = append $wrong "autoscaling.inFlight.enabled: requires autoscaling.enabled" }}
{{- end }}
{{- $resources := include "kvs-gateway.resources" . | fromYaml }}
{{- $limit := $resources.limits.memory }}
{{- $requested := $resources.requests.memory }}
{{- $mebibytes := mul (regexFind "^[0-9]+" $limit | int) (ternary 1024 1 (hasSuffix "Gi" $limit)) }}
{{- if gt (mul (regexFind "^[0-9]+" $requested | int) (ternary 1024 1 (hasSuffix "Gi" $requested))) $mebibytes }}
{{- $wrong = append $wrong (printf "resources.requests.memory: must be at most the limit of %s" $limit) }}
{{- end }}
{{- $needed := div (add (include "kvs-gateway.worstMemory" . | int64) 1023) 1024 }}
{{- if gt $needed $mebibytes }}
{{- $cause := "config.edge and config.store.max_bytes need up to" }}
{{- $wrong = append $wrong (printf "resources.limits.memory: is %s, but %s %dMi" $limit $cause $needed) }}
{{- end }}
{{- toYaml $wrong }}
{{- end }}

{{- define "kvs-gateway.checks.listeners" -}}
{{- $wrong := list }}
{{- range $name, $_ := include "kvs-gateway.opened" . | fromYaml }}
{{- if not $.Values.networkPolicy.enabled }}
{{- $wrong = append $wrong (printf "%s.enabled: requires networkPolicy.enabled; otherwise every pod could reach all listeners" $name) }}
{{- end }}
{{- if not (or (index $.Values $name).secretName $.Values.certificates.issuerRef.name) }}
{{- $wrong = append $wrong (printf "%s.secretName: is required unless certificates.issuerRef.name is set" $name) }}
{{- end }}
{{- end }}
{{- if and .Values.config.workloads (not .Values.credentials.enabled) }}
{{- $wrong = append $wrong "config.workloads: requires credentials.enabled" }}
{{- end }}
{{- if and .Values.credentials.enabled (not (dig "signature" "credentials" "session" nil .Values.config)) }}
{{- $wrong = append $wrong "credentials.enabled: requires config.signature.credentials.session" }}
{{- end }}
{{- toYaml $wrong }}
{{- end }}

{{- define "kvs-gateway.checks.configuration" -}}
{{- $wrong := list }}
{{- $signature := .Values.config.signature | default dict }}
{{- if and (has (toString $signature.mode) (list "off" "false")) (not $signature.allow_public) }}
{{- $wrong = append $wrong "config.signature.mode: must not be off, because every pod that reaches the data port would be a caller; set allow_public to allow that" }}
{{- end }}
{{- $limits := merge dict (.Values.config.limits | default dict) (dict "min_ttl_seconds" 60 "max_ttl_seconds" 31536000) }}
{{- $least := int $limits.min_ttl_seconds }}
{{- $most := int $limits.max_ttl_seconds }}
{{- if and $least $most (gt $least $most) }}
{{- $wrong = append $wrong "config.limits.max_ttl_seconds: must be at least min_ttl_seconds" }}
{{- end }}
{{- with int $limits.default_ttl_seconds }}
{{- if or (lt . $least) (and $most (gt . $most)) }}
{{- $wrong = append $wrong "config.limits.default_ttl_seconds: must be between min_ttl_seconds and max_ttl_seconds" }}
{{- end }}
{{- end }}
{{- if hasKey .Values.files "config.yaml" }}{{ $wrong = append $wrong "files: must not contain config.yaml, which is generated from config" }}{{ end }}
{{- $oidc := (.Values.config.control | default dict).oidc }}
{{- $issuers := dict "config.workloads" .Values.config.workloads "config.control.oidc" $oidc }}
{{- range $path, $each := $issuers }}
{{- range $index, $issuer := $each }}
{{- $file := $issuer.jwks | default "" }}
{{- if and (hasPrefix "/etc/kvs-gateway/" $file) (not (hasKey $.Values.files (base $file))) }}
{{- $wrong = append $wrong (printf "%s[%d].jwks: add %s to files" $path $index (base $file)) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $wrong }}
{{- end }}

{{- /* A duplicate label would override the chart's, and no Deployment or network policy would select the pods. */}}
{{- define "kvs-gateway.checks.labels" -}}
{{- $wrong := list }}
{{- $own := include "kvs-gateway.labels" (dict "Values" dict "Release" .Release "Chart" .Chart) | fromYaml }}
{{- range $value := list "commonLabels" "podLabels" }}
{{- range $label, $_ := index $.Values $value }}
{{- if hasKey $own $label }}{{ $wrong = append $wrong (printf "%s: %s is set by the chart; remove it" $value $label) }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $wrong }}
{{- end }}

{{- define "kvs-gateway.checks.variables" -}}
{{- $wrong := list }}
{{- range $index, $variable := .Values.extraEnv }}
{{- $isSecret := regexMatch "(?i)(token|secret|password|passwd|credentials?|apikey|_key)$" $variable.name }}
{{- $isPlace := regexMatch "^(/|file:)|\\$\\(" ($variable.value | default "/") }}
{{- if and $isSecret (not $isPlace) }}
{{- $wrong = append $wrong (printf "extraEnv[%d].value: must not contain the secret %s; use valueFrom" $index $variable.name) }}
{{- end }}
{{- end }}
{{- toYaml $wrong }}
{{- end }}

{{- define "kvs-gateway.checks.routes" -}}
{{- $wrong := list }}
{{- $routed := or .Values.ingress.enabled .Values.httpRoute.enabled }}
{{- if and $routed (not .Values.config.public_hosts) }}
{{- $wrong = append $wrong "config.public_hosts: is required for ingress and httpRoute" }}
{{- end }}
{{- range include "kvs-gateway.hosts" . | fromYamlArray }}
{{- if and $routed (not (regexMatch "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$" .)) }}
{{- $wrong = append $wrong (printf "config.public_hosts: %s cannot be routed; use a host name in lower case" .) }}
{{- end }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- $wrong = append $wrong "httpRoute.parentRefs: is required" }}
{{- end }}
{{- toYaml $wrong }}
{{- end }}
