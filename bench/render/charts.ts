/** Charts for the benchmark, generated: written as charts of the field are, with helpers, conditions, loops and `toYaml`. */

export interface ChartSize {
  readonly name: string
  /** Services; each has seven templates. */
  readonly services: number
}

/** The templates of one service, with the names and functions that popular charts use most. */
const templates: Readonly<Record<string, string>> = {
  deployment: `{{- $service := index .Values.services "NAME" }}
{{- if $service.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "bench.fullname" (dict "root" . "name" "NAME") }}
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "bench.labels" (dict "root" . "name" "NAME") | nindent 4 }}
  {{- with (merge (default (dict) $service.annotations) .Values.commonAnnotations) }}
  annotations:
    {{- tpl (toYaml .) $ | nindent 4 }}
  {{- end }}
spec:
  {{- if not $service.autoscaling.enabled }}
  replicas: {{ $service.replicas | default .Values.replicas | int }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "bench.selector" (dict "root" . "name" "NAME") | nindent 6 }}
  template:
    metadata:
      annotations:
        checksum/config: {{ printf "%s-%s" "NAME" ($service.config | toJson | trunc 20) | b64enc | quote }}
      labels:
        {{- include "bench.labels" (dict "root" . "name" "NAME") | nindent 8 }}
    spec:
      serviceAccountName: {{ include "bench.fullname" (dict "root" . "name" "NAME") }}
      containers:
        - name: {{ "NAME" | trunc 63 | trimSuffix "-" }}
          image: {{ include "bench.image" (dict "image" $service.image "global" .Values.global) }}
          imagePullPolicy: {{ coalesce $service.image.pullPolicy .Values.global.pullPolicy "IfNotPresent" }}
          env:
            {{- range $key, $value := $service.env }}
            - name: {{ $key | upper | replace "-" "_" }}
              value: {{ tpl (toString $value) $ | quote }}
            {{- end }}
          ports:
            {{- range $service.ports }}
            - name: {{ .name }}
              containerPort: {{ .port | int }}
              protocol: {{ .protocol | default "TCP" }}
            {{- end }}
          {{- if $service.probes.enabled }}
          livenessProbe:
            {{- omit $service.probes "enabled" | toYaml | nindent 12 }}
          {{- end }}
          resources:
            {{- toYaml $service.resources | nindent 12 }}
      {{- with $service.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if or $service.affinity .Values.affinity }}
      affinity: {{- toYaml (default .Values.affinity $service.affinity) | nindent 8 }}
      {{- end }}
{{- end }}
`,
  service: `{{- $service := index .Values.services "NAME" }}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "bench.fullname" (dict "root" . "name" "NAME") }}
  labels: {{- include "bench.labels" (dict "root" . "name" "NAME") | nindent 4 }}
spec:
  type: {{ $service.type | default "ClusterIP" }}
  ports:
    {{- range $service.ports }}
    - name: {{ .name }}
      port: {{ .port }}
      {{- if and (eq $service.type "NodePort") (not (empty .nodePort)) }}
      nodePort: {{ .nodePort }}
      {{- end }}
    {{- end }}
  selector: {{- include "bench.selector" (dict "root" . "name" "NAME") | nindent 4 }}
`,
  config: `{{- $service := index .Values.services "NAME" }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "bench.fullname" (dict "root" . "name" "NAME") }}-config
  labels: {{- include "bench.labels" (dict "root" . "name" "NAME") | nindent 4 }}
data:
  {{- range $file, $content := $service.config }}
  {{ $file }}: |
    {{- tpl (kindIs "string" $content | ternary $content (toYaml $content)) $ | nindent 4 }}
  {{- end }}
`,
  account: `apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "bench.fullname" (dict "root" . "name" "NAME") }}
  labels: {{- include "bench.labels" (dict "root" . "name" "NAME") | nindent 4 }}
`,
  role: `{{- if .Values.rbac.create }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "bench.fullname" (dict "root" . "name" "NAME") }}
rules:
  {{- range list "configmaps" "secrets" "services" }}
  - apiGroups: [""]
    resources: [{{ . | quote }}]
    verbs: {{ list "get" "list" "watch" | toJson }}
  {{- end }}
{{- end }}
`,
  scaler: `{{- $service := index .Values.services "NAME" }}
{{- if and $service.autoscaling.enabled (semverCompare ">=1.23-0" .Capabilities.KubeVersion.Version) }}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "bench.fullname" (dict "root" . "name" "NAME") }}
spec:
  minReplicas: {{ $service.autoscaling.min }}
  maxReplicas: {{ $service.autoscaling.max }}
{{- end }}
`,
  ingress: `{{- $service := index .Values.services "NAME" }}
{{- if .Capabilities.APIVersions.Has "networking.k8s.io/v1" }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "bench.fullname" (dict "root" . "name" "NAME") }}
spec:
  rules:
    {{- range $host := $service.hosts }}
    - host: {{ tpl $host $ | quote }}
      http:
        paths:
          {{- range $path := list "/" "/api" }}
          - path: {{ $path }}
            pathType: Prefix
            backend: { service: { name: {{ include "bench.fullname" (dict "root" $ "name" "NAME") }}, port: { name: http } } }
          {{- end }}
    {{- end }}
{{- end }}
`,
}

const helpers = `{{- define "bench.fullname" -}}
{{- $root := .root -}}
{{- if $root.Values.fullnameOverride -}}
{{- printf "%s-%s" $root.Values.fullnameOverride .name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $base := default $root.Chart.Name $root.Values.nameOverride -}}
{{- if contains $base $root.Release.Name -}}
{{- printf "%s-%s" $root.Release.Name .name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s-%s" $root.Release.Name $base .name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- define "bench.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}
{{- define "bench.labels" -}}
{{ include "bench.selector" . }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- define "bench.image" -}}
{{- $registry := default .image.registry .global.registry -}}
{{- printf "%s/%s:%s" $registry .image.repository (.image.tag | toString) | quote -}}
{{- end -}}
`

const common = `replicas: 2
nameOverride: ""
fullnameOverride: ""
global: { registry: "", pullPolicy: Always }
commonLabels: { team: platform, tier: backend }
commonAnnotations: { owner: "{{ .Release.Name }}", link: https://example.com/docs }
rbac: { create: true }
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - { weight: 100, podAffinityTerm: { topologyKey: kubernetes.io/hostname } }
services:
`

function serviceValues(name: string, at: number): string {
  return `  ${name}:
    enabled: ${at % 7 !== 6}
    type: ${at % 3 === 0 ? 'NodePort' : 'ClusterIP'}
    image: { registry: docker.example.com, repository: team/${name}, tag: "1.${at}" }
    autoscaling: { enabled: ${at % 2 === 0}, min: 1, max: ${at + 2} }
    annotations: { note: "of {{ .Chart.Name }}" }
    probes: { enabled: true, httpGet: { path: /healthz, port: http }, periodSeconds: 10 }
    env: { log-level: info, release: "{{ .Release.Name }}", index: ${at} }
    ports: [{ name: http, port: 8080, nodePort: ${30_000 + at} }, { name: metrics, port: 9090 }]
    resources: { limits: { cpu: 500m, memory: 256Mi }, requests: { cpu: 100m, memory: 128Mi } }
    nodeSelector: { kubernetes.io/os: linux }
    hosts: ["${name}.{{ .Release.Name }}.example.com"]
    config:
      app.yaml: { server: { port: 8080, name: ${name} }, features: [a, b, c], nested: { deep: { value: ${at} } } }
      text.conf: |
        name = ${name}
        release = {{ .Release.Name }}
`
}

/** The files of a chart of this size. */
export function benchmarkChart({ name, services }: ChartSize): ReadonlyMap<string, string> {
  const names = Array.from({ length: services }, (_, at) => `service-${at}`)
  const files = new Map([
    ['Chart.yaml', `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n`],
    ['values.yaml', common + names.map(serviceValues).join('')],
    ['templates/_helpers.tpl', helpers],
  ])
  for (const service of names) {
    for (const [kind, text] of Object.entries(templates)) {
      files.set(`templates/${service}/${kind}.yaml`, text.replaceAll('NAME', service))
    }
  }
  return files
}
