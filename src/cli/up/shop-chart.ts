/** The chart that `muster up` installs. An image that is called missing cannot be pulled, so that an upgrade to it fails. */
export const shopChart: Readonly<Record<string, string>> = {
  'Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
  'values.yaml': 'image: shop:1\nreplicas: 2\n',
  'templates/config.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  image: {{ .Values.image | quote }}
`,
  'templates/deployment.yaml': `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: { app: {{ .Release.Name }} }
  template:
    metadata:
      labels: { app: {{ .Release.Name }} }
      {{- if hasPrefix "missing" .Values.image }}
      annotations: { simulated.muster.dev/fail-image-pull: "true" }
      {{- end }}
    spec:
      containers:
        - name: shop
          image: {{ .Values.image }}
`,
}
