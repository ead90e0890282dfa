/**
 * A Helm chart as data: what its files say, before any template runs. Charts are values: resolving dependencies gives a new one.
 */
import type { ValueMap } from './values.ts'

export interface ChartFile {
  /** The path in the chart: `templates/web.yaml`. */
  readonly name: string
  readonly data: Uint8Array
}

export interface Maintainer {
  readonly name: string
  readonly email: string
  readonly url: string
}

/** Values of a subchart that its parent takes over: `exports.NAME`, or a table under another path. */
export type ImportValues = string | { readonly child: string; readonly parent: string }

export interface Dependency {
  readonly name: string
  /** A version range. */
  readonly version: string
  readonly repository: string
  /** Paths of values joined by commas; the first that is a boolean decides. */
  readonly condition: string
  readonly tags: readonly string[]
  readonly enabled: boolean
  readonly importValues: readonly ImportValues[]
  /** The subchart is used under this name. */
  readonly alias: string
}

/** Chart.yaml. Text that is not given is empty. */
export interface ChartMetadata {
  readonly apiVersion: string
  readonly name: string
  readonly version: string
  readonly kubeVersion: string
  readonly description: string
  readonly type: string
  readonly keywords: readonly string[]
  readonly home: string
  readonly sources: readonly string[]
  readonly dependencies: readonly Dependency[]
  readonly maintainers: readonly Maintainer[]
  readonly icon: string
  readonly appVersion: string
  readonly deprecated: boolean
  readonly annotations: Readonly<Record<string, string>>
  readonly condition: string
  readonly tags: string
}

export interface Chart {
  readonly metadata: ChartMetadata
  /** Defaults: values.yaml. Never changed in place. */
  readonly values: ValueMap
  /** values.schema.json. */
  readonly schema: string | undefined
  /** Files below `templates/`. */
  readonly templates: readonly ChartFile[]
  /** Every other file: `crds/`, README, … */
  readonly files: readonly ChartFile[]
  /** Subcharts. */
  readonly dependencies: readonly Chart[]
}

export function isLibrary({ metadata }: Chart): boolean {
  return metadata.type.toLowerCase() === 'library'
}

/** A CRD file, with its path from the root chart: `web/charts/db/crds/database.yaml`. */
export interface CrdFile {
  readonly path: string
  readonly text: string
}

/** The CRDs of a chart, then those of its subcharts. They are not templates. */
export function chartCrds(chart: Chart, path: string = chart.metadata.name): readonly CrdFile[] {
  const own = chart.files.filter(({ name }) => name.startsWith('crds/') && /\.(?:yaml|yml|json)$/i.test(name))
  const decoder = new TextDecoder()
  return [
    ...own.map(({ name, data }) => ({ path: `${path}/${name}`, text: decoder.decode(data) })),
    ...chart.dependencies.flatMap((each) => chartCrds(each, `${path}/charts/${each.metadata.name}`)),
  ]
}
