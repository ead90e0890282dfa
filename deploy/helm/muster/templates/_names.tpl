{{/* The name of all objects. */}}
{{- define "muster.name" -}}
{{- default .Release.Name .Values.fullnameOverride -}}
{{- end -}}

{{/* The image of the manager. */}}
{{- define "muster.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository .Values.image.tag -}}
{{- end -}}
{{- end -}}
