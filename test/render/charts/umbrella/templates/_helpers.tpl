{{- define "umbrella.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "umbrella.labels" }}
app.kubernetes.io/name: {{ include "umbrella.name" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
{{/* The definition of the parent wins over that of the subchart. */}}
{{- define "backend.title" -}}parent title{{- end -}}
