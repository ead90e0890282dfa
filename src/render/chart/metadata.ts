/** Reads Chart.yaml and requirements.yaml. Scalars are taken as text where text is expected: `version: 1.0` is "1". */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { renderErrors } from '../errors.ts'
import { parseVersion } from '../version/semantic-version.ts'
import type { ChartMetadata, Dependency, ImportValues, Maintainer } from './chart.ts'

/** Fields of a mapping, with errors that name file and field. */
interface Fields {
  text(this: void, field: string): string
  list(this: void, field: string): readonly Json[]
  has(this: void, field: string): boolean
  flag(this: void, field: string): boolean
}

/**
 * The metadata of a chart. In charts of version 1, dependencies are in requirements.yaml.
 * @throws InvalidYaml, InvalidChart
 */
export function readChartMetadata(
  chartYaml: string,
  requirementsYaml: string | undefined,
  place: string,
): ChartMetadata {
  const file = `${place}/Chart.yaml`
  const chart = fieldsOf(chartYaml, file)
  const requirementsFile = `${place}/requirements.yaml`
  const requirements = requirementsYaml === undefined ? undefined : fieldsOf(requirementsYaml, requirementsFile)
  const dependencies = requirements?.fields.has('dependencies')
    ? requirements.fields.list('dependencies').map((each) => readDependency(each, requirementsFile))
    : chart.fields.list('dependencies').map((each) => readDependency(each, file))
  const { text, list } = chart.fields
  const clean = (field: string): string => printable(text(field))
  const metadata: ChartMetadata = {
    apiVersion: text('apiVersion') || 'v1',
    name: clean('name'),
    version: text('version'),
    kubeVersion: clean('kubeVersion'),
    description: clean('description'),
    type: text('type'),
    keywords: list('keywords').map((each) => printable(textOf(each, file, 'keywords'))),
    home: clean('home'),
    sources: list('sources').map((each) => printable(textOf(each, file, 'sources'))),
    dependencies,
    maintainers: list('maintainers').map((each) => readMaintainer(each, file)),
    icon: clean('icon'),
    appVersion: clean('appVersion'),
    deprecated: chart.fields.flag('deprecated'),
    annotations: readAnnotations(chart.object['annotations'], file),
    condition: clean('condition'),
    tags: clean('tags'),
  }
  check(metadata, file)
  return metadata
}

function check(metadata: ChartMetadata, file: string): void {
  const { apiVersion, name, version, type, dependencies } = metadata
  if (!['v1', 'v2'].includes(apiVersion)) throw invalid(file, `apiVersion ${apiVersion} is not supported: write v2`)
  if (name === '') throw invalid(file, 'name is required')
  if (name === '.' || name === '..' || name.includes('/')) throw invalid(file, `name "${name}" is no name of a chart`)
  if (version === '') throw invalid(file, 'version is required')
  if (!parseVersion(version)) throw invalid(file, `version "${version}" is no semantic version`)
  if (!['', 'application', 'library'].includes(type)) throw invalid(file, 'type must be application or library')
  const names = new Set<string>()
  for (const { name: dependency, alias } of dependencies) {
    const used = alias || dependency
    if (names.has(used)) throw invalid(file, `more than one dependency has the name or alias "${used}"`)
    names.add(used)
  }
}

function readDependency(value: Json, file: string): Dependency {
  if (!isJsonObject(value)) throw invalid(file, 'each of dependencies must be a mapping')
  const { text, list, flag } = fields(value, file, 'dependencies.')
  const name = printable(text('name'))
  const alias = text('alias')
  if (!/^[a-zA-Z0-9_-]*$/.test(alias))
    throw invalid(file, `the alias of dependency "${name}" has disallowed characters`)
  return {
    name,
    alias,
    version: printable(text('version')),
    repository: printable(text('repository')),
    condition: printable(text('condition')),
    tags: list('tags').map((each) => printable(textOf(each, file, 'tags'))),
    enabled: flag('enabled'),
    importValues: list('import-values').flatMap(readImport),
  }
}

/** Anything else is ignored. */
function readImport(value: Json): readonly ImportValues[] {
  if (typeof value === 'string') return [value]
  if (!isJsonObject(value)) return []
  const shown = (part: Json | undefined): string =>
    part === undefined || part === null ? '<nil>' : typeof part === 'object' ? '' : String(part)
  return [{ child: shown(value['child']), parent: shown(value['parent']) }]
}

function readMaintainer(value: Json, file: string): Maintainer {
  if (!isJsonObject(value)) throw invalid(file, 'maintainers must not contain empty entries')
  const { text } = fields(value, file, 'maintainers.')
  return { name: printable(text('name')), email: printable(text('email')), url: printable(text('url')) }
}

function readAnnotations(value: Json | undefined, file: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) throw invalid(file, 'annotations must be a mapping')
  const entries = Object.entries(value).map(([key, each]) => [key, textOf(each, file, `annotations.${key}`)])
  return Object.fromEntries(entries) as Record<string, string>
}

function fieldsOf(text: string, file: string): { readonly object: JsonObject; readonly fields: Fields } {
  const object = readYamlDocuments(text, { source: file, keepsEnd: true })[0] ?? {}
  if (!isJsonObject(object)) throw invalid(file, 'it must be a mapping')
  return { object, fields: fields(object, file, '') }
}

/** Go's JSON matches names of fields in any case, the exact one first. */
function member(object: JsonObject, field: string): Json | undefined {
  if (Object.hasOwn(object, field)) return object[field]
  const name = Object.keys(object).find((key) => key.toLowerCase() === field.toLowerCase())
  return name === undefined ? undefined : object[name]
}

function fields(object: JsonObject, file: string, prefix: string): Fields {
  return {
    has: (field) => member(object, field) !== undefined,
    text: (field) => textOf(member(object, field), file, prefix + field),
    flag(field) {
      const value = member(object, field) ?? false
      if (typeof value === 'boolean') return value
      throw invalid(file, `${prefix}${field} must be true or false`)
    },
    list(field) {
      const value = member(object, field) ?? []
      if (Array.isArray(value)) return value as readonly Json[]
      throw invalid(file, `${prefix}${field} must be a list`)
    },
  }
}

function textOf(value: Json | undefined, file: string, field: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') throw invalid(file, `${field} must be text`)
  return String(value)
}

/** Any white space becomes a blank; characters that cannot be printed are dropped. */
function printable(text: string): string {
  return text.replace(/\s/gu, ' ').replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '')
}

function invalid(file: string, problem: string): MusterError {
  return new MusterError(renderErrors.InvalidChart, `${file}: ${problem}.`)
}
