{{- /* Names and labels. `app.kubernetes.io/name` is fixed, because rules and alerts select it as the job. */}}

{{- define "kvs-gateway.name" -}}
{{- $name := ternary .Release.Name (printf "%s-kvs-gateway" .Release.Name) (contains "kvs-gateway" .Release.Name) }}
{{- .Values.fullnameOverride | default $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "kvs-gateway.selector" -}}
app.kubernetes.io/name: kvs-gateway
app.kubernetes.io/component: edge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kvs-gateway.labels" -}}
{{ include "kvs-gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kvs-gateway.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "kvs-gateway.name" .) }}
{{- end }}

{{- define "kvs-gateway.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* Secret with the certificate of a listener: (list $ "control"). */}}
{{- define "kvs-gateway.tlsSecret" -}}
{{- $root := first . }}{{ $listener := last . }}
{{- (index $root.Values $listener).secretName | default (printf "%s-%s-tls" (include "kvs-gateway.name" $root) $listener) }}
{{- end }}

{{- /* Public hosts without their ports. */}}
{{- define "kvs-gateway.hosts" -}}
{{- $hosts := list }}
{{- range .Values.config.public_hosts }}{{ $hosts = append $hosts (regexReplaceAll ":[0-9]+$" . "") }}{{ end }}
{{- $hosts | uniq | toYaml }}
{{- end }}
