{{/* The name of the chart in labels. */}}
{{- define "carillon.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* The name of the objects. The names of pods and of the headless service are longer. */}}
{{- define "carillon.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "carillon.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "carillon.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "carillon.selector" -}}
app.kubernetes.io/name: {{ include "carillon.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "carillon.labels" -}}
{{ include "carillon.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "carillon.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The configuration: that of the values, with what the chart decides. Every JSON document is JSON5. */}}
{{- define "carillon.configuration" -}}
{{- $given := deepCopy .Values.configuration -}}
{{- $name := include "carillon.fullname" . -}}
{{- $space := .Release.Namespace -}}
{{- $hosts := list $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) -}}
{{- $hosts = concat $hosts (list (printf "%s.%s.svc.cluster.local" $name $space)) -}}
{{- $http := default dict $given.http -}}
{{- $hosts = concat $hosts (default list $http.hosts) | uniq -}}
{{- $chart := dict "data" "/var/lib/carillon/data" -}}
{{- $_ := set $chart "http" (dict "listen" "0.0.0.0:8470" "hosts" $hosts) -}}
{{- if not $http.tls -}}
{{- $_ := set $chart.http "insecure" true -}}
{{- end -}}
{{- if .Values.zeromq -}}
{{- if not (dig "security" "curve" "" $given) -}}
{{- fail "zeromq needs configuration.security.curve: without keys, every pod could push and see all events" -}}
{{- end -}}
{{- $_ := set $chart "intake" (dict "router" "tcp://0.0.0.0:5560" "pull" "tcp://0.0.0.0:5561") -}}
{{- $_ := set $chart "events" (dict "publish" "tcp://0.0.0.0:5570" "replay" "tcp://0.0.0.0:5571") -}}
{{- end -}}
{{- if .Values.cluster.enabled -}}
{{- $_ := set $chart "cluster" (pick .Values.cluster "lease" "durability") -}}
{{- end -}}
{{- range $key := list "store" "cluster" -}}
{{- if hasKey $given $key -}}
{{- fail (printf "configuration.%s: set the values of `cluster` instead" $key) -}}
{{- end -}}
{{- end -}}
{{- mustMergeOverwrite $given $chart | toPrettyJson -}}
{{- end }}

{{/* The port of HTTP in the words of a probe. */}}
{{- define "carillon.probe" -}}
httpGet:
  path: /healthz
  port: http
  scheme: {{ if dig "http" "tls" "" .Values.configuration }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- define "carillon.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "carillon.podSecurity" -}}
runAsNonRoot: true
runAsUser: 8470
runAsGroup: 8470
fsGroup: 8470
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "carillon.store" -}}
{{- $secret := .Values.cluster.storeSecret -}}
name: CARILLON_STORE
valueFrom:
  secretKeyRef:
    name: {{ required "cluster.storeSecret.name is the Secret with the URL of the database" $secret.name }}
    key: {{ $secret.key }}
{{- end }}
