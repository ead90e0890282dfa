/** The files of the Helm chart. */
import { writeYaml } from '../kube/yaml/yaml.ts'
import type { InstallationDescription } from './description.ts'
import { helmDocuments } from './helm-template.ts'
import { installationObjects } from './installation.ts'
import { valuesSchema, valuesText, valueTable } from './values.ts'

/** Path in the chart's folder and text. */
export function chartFiles(description: InstallationDescription): ReadonlyMap<string, string> {
  const { name, version } = description
  const table = valueTable(description)
  const chart = {
    apiVersion: 'v2',
    name,
    description: description.description,
    type: 'application',
    version,
    appVersion: version,
    keywords: ['operator', 'controller', 'muster'],
  }
  return new Map([
    ['.helmignore', '*.tgz\n.git/\n'],
    ['Chart.yaml', writeYaml(chart)],
    ['values.yaml', valuesText(table)],
    ['values.schema.json', `${JSON.stringify(valuesSchema(table), undefined, 2)}\n`],
    ['templates/_names.tpl', namedTemplates(name)],
    ['templates/NOTES.txt', notes(description)],
    ...installationObjects(description).map(
      ({ name: file, documents }) => [`templates/${file}.yaml`, helmDocuments(documents, name)] as const,
    ),
  ])
}

/** As `releaseScope` of `installation.ts`. */
function namedTemplates(chart: string): string {
  return `{{/* The name of all objects. */}}
{{- define "${chart}.name" -}}
{{- default .Release.Name .Values.fullnameOverride -}}
{{- end -}}

{{/* The image of the manager. */}}
{{- define "${chart}.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository .Values.image.tag -}}
{{- end -}}
{{- end -}}
`
}

function notes({ name, operators }: InstallationDescription): string {
  const named = `{{ include "${name}.name" . }}`
  const hosted = operators.length === 0 ? 'no operator yet' : operators.map((operator) => operator.name).join(', ')
  return `The manager ${named} is installed in {{ .Release.Namespace }}. It hosts: ${hosted}.

  kubectl -n {{ .Release.Namespace }} rollout status deployment/${named}
  kubectl -n {{ .Release.Namespace }} exec deployment/${named} -- muster top --once

Its configuration is the ConfigMap ${named}; a change takes effect while it runs.
{{- if .Values.crds.keep }}
"helm uninstall" keeps the CRDs, and with them the custom resources.
{{- end }}
`
}
