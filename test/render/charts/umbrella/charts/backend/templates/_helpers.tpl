{{- define "backend.title" -}}child title{{- end -}}
{{- define "backend.only" -}}only in the child: {{ .Chart.Name }}{{- end -}}
