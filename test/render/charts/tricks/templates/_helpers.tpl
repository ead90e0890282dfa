{{- define "tricks.count" -}}
{{- if gt (int .n) 0 -}}
{{ .n }} {{ include "tricks.count" (dict "n" (sub (int .n) 1)) }}
{{- else -}}
end
{{- end -}}
{{- end -}}
{{- define "tricks.merged" -}}
{{- $base := dict "a" (dict "b" 1) -}}
{{- $copy := merge (dict) $base -}}
{{- $_ := set $copy.a "c" 2 -}}
{{- $base | toJson -}}
{{- end -}}
