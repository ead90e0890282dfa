/**
 * What the templates of a chart see: `.Values`, `.Release`, `.Chart`, `.Files`, `.Capabilities` and `.Subcharts`, with the Go
 * types that Helm gives them.
 *
 * A subchart's `.Values` is the very table that its parent sees in its own values, and `.Release` is one map for all: a template
 * that changes one with `set` changes it for the others, as in Helm.
 */
import { goFunction } from '../template/function-type.ts'
import {
  type GoMap,
  GoObject,
  int64,
  isMap,
  markAsValues,
  nilMap,
  setMapMember,
  valuesType,
  withType,
} from '../template/values.ts'
import { anyApi, type Capabilities } from './capabilities.ts'
import type { Chart, ChartMetadata, Dependency } from './chart.ts'
import { filesObject } from './chart-files.ts'
import { isTable, type ChartValue, type ValueMap } from './values.ts'

export interface Release {
  readonly name: string
  readonly namespace: string
  /** @default 1 */
  readonly revision?: number
  /** An upgrade, and no installation. @default false */
  readonly isUpgrade?: boolean
}

interface ChartData {
  readonly chart: Chart
  /** The path of the chart from the root: `web/charts/db`. */
  readonly path: string
  readonly data: GoMap
}

/** The data of a chart and of all of its subcharts, the subcharts first. */
export function templateData(
  chart: Chart,
  values: ValueMap,
  release: Release,
  capabilities: Capabilities,
): readonly ChartData[] {
  const isUpgrade = release.isUpgrade ?? false
  const shared = {
    Release: {
      Name: release.name,
      Namespace: release.namespace,
      IsUpgrade: isUpgrade,
      IsInstall: !isUpgrade,
      Revision: BigInt(release.revision ?? 1),
      Service: 'Helm',
    },
    Capabilities: capabilitiesObject(capabilities),
  }
  const all: ChartData[] = []
  const visit = (one: Chart, path: string, own: GoMap, isRoot: boolean): GoMap => {
    const subcharts: GoMap = {}
    const data: GoMap = {
      Chart: metadataMap(one.metadata, isRoot),
      Files: filesObject(one.files),
      ...shared,
      Values: own,
      Subcharts: subcharts,
    }
    for (const subchart of one.dependencies) {
      const { name } = subchart.metadata
      const section = Object.hasOwn(own, name) ? own[name] : undefined
      const table = (section ?? {}) as GoMap
      if (isMap(table)) markAsValues(table)
      setMapMember(subcharts, name, visit(subchart, `${path}/charts/${name}`, table, false))
    }
    all.push({ chart: one, path, data })
    return data
  }
  const root = withType(goValue(values, new Map()) as GoMap, valuesType)
  visit(chart, chart.metadata.name, root, true)
  return all
}

/** Tables that several sections share stay shared. */
function goValue(value: ChartValue, known: Map<ValueMap, GoMap>): unknown {
  if (typeof value === 'bigint') return int64(value)
  if (Array.isArray(value)) return value.map((item) => goValue(item, known))
  if (!isTable(value)) return value
  const before = known.get(value)
  if (before) return before
  const map: GoMap = {}
  known.set(value, map)
  for (const [key, each] of value) setMapMember(map, key, goValue(each, known))
  return map
}

function metadataMap(metadata: ChartMetadata, isRoot: boolean): GoMap {
  return {
    Name: metadata.name,
    Home: metadata.home,
    Sources: [...metadata.sources],
    Version: metadata.version,
    Description: metadata.description,
    Keywords: [...metadata.keywords],
    Maintainers: metadata.maintainers.map(({ name, email, url }) => ({ Name: name, Email: email, URL: url })),
    Icon: metadata.icon,
    APIVersion: metadata.apiVersion,
    Condition: metadata.condition,
    Tags: metadata.tags,
    AppVersion: metadata.appVersion,
    Deprecated: metadata.deprecated,
    Annotations: annotationsMap(metadata.annotations),
    KubeVersion: metadata.kubeVersion,
    Dependencies: metadata.dependencies.map(dependencyMap),
    Type: metadata.type,
    IsRoot: isRoot,
  }
}

/** A chart without annotations has a nil map, as in Go. */
function annotationsMap(annotations: Readonly<Record<string, string>>): GoMap {
  return withType(Object.keys(annotations).length > 0 ? { ...annotations } : nilMap(), 'map[string]string')
}

function dependencyMap(dependency: Dependency): GoMap {
  const imports = dependency.importValues.map((each) =>
    typeof each === 'string' ? { child: `exports.${each}`, parent: '.' } : { ...each },
  )
  return {
    Name: dependency.name,
    Version: dependency.version,
    Repository: dependency.repository,
    Condition: dependency.condition,
    Tags: [...dependency.tags],
    Enabled: dependency.enabled,
    ImportValues: imports.map((each) => withType(each, 'map[string]string')),
    Alias: dependency.alias,
  }
}

/** The version of Helm that charts are told they run under. */
const helmVersion = { version: 'v4.3.1', goVersion: 'go1.26', kubeClientVersion: 'v1.37' } as const

function capabilitiesObject({ kubeVersion, apiVersions, onAsked }: Capabilities): GoObject {
  const { version, major, minor, normalized } = kubeVersion
  const known = new Set(apiVersions)
  return new GoObject('*common.Capabilities', {
    fields: {
      KubeVersion: new GoObject('common.KubeVersion', {
        fields: { Version: version, Major: major, Minor: minor },
        methods: { GitVersion: goFunction('', () => version), String: goFunction('', () => normalized) },
        text: () => normalized,
      }),
      APIVersions: withType(noting([...apiVersions], onAsked), 'common.VersionSet', {
        Has: goFunction('string', ([one]: [string]) => {
          onAsked?.(one)
          return known.has(one)
        }),
      }),
      HelmVersion: new GoObject('version.BuildInfo', {
        fields: {
          Version: helmVersion.version,
          GitCommit: '',
          GitTreeState: '',
          GoVersion: helmVersion.goVersion,
          KubeClientVersion: helmVersion.kubeClientVersion,
        },
        json: {
          version: helmVersion.version,
          go_version: helmVersion.goVersion,
          kube_client_version: helmVersion.kubeClientVersion,
        },
      }),
    },
  })
}

/** Notes that the items are read: a template may list what is served, and not only ask for one API version. */
function noting(items: string[], onAsked: Capabilities['onAsked']): string[] {
  if (!onAsked) return items
  return new Proxy(items, {
    get(target, member): unknown {
      if (member === 'length' || (typeof member === 'string' && /^\d+$/.test(member))) onAsked(anyApi)
      return Reflect.get(target, member) as unknown
    },
  })
}
