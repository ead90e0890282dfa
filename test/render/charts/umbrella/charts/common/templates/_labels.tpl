{{- define "common.labels" -}}
library: {{ .Chart.Name }}
{{- end -}}
