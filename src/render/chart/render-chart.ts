/**
 * Renders a chart: dependencies, values, schemas, templates, manifests. A pure function; see `../worker/render-thread.ts` for a
 * render that must not hold the shared thread.
 */
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { type RenderOptions, renderTemplates, type TemplateSource } from '../engine/render-templates.ts'
import { bytesText, validText } from '../template/text-bytes.ts'
import { isVersionInRange } from '../version/version-constraint.ts'
import { type Capabilities, offlineCapabilities } from './capabilities.ts'
import { type Chart, type CrdFile, chartCrds, isLibrary } from './chart.ts'
import { checkValues } from './check-values.ts'
import { coalesceValues } from './coalesce.ts'
import { missingDependencies, resolveDependencies } from './dependencies.ts'
import { type SortedManifests, sortManifests } from './manifests.ts'
import { type Release, templateData } from './template-data.ts'
import type { ValueMap, Warn } from './values.ts'

interface ChartRenderOptions {
  readonly release: Release
  /** @default those that Helm assumes without a cluster */
  readonly capabilities?: Capabilities
  /** How templates are executed. */
  readonly templates: RenderOptions
  /** Values are not compared with the schemas of the charts. @default false */
  readonly skipSchema?: boolean
}

export interface RenderedChart extends SortedManifests {
  /** Files of `crds/`: installed first, never rendered. */
  readonly crds: readonly CrdFile[]
  /** NOTES.txt of the chart itself; empty if there is none. */
  readonly notes: string
  readonly warnings: readonly string[]
}

const longestRelease = 53

/** @throws InvalidChart, InvalidValues, InvalidManifest, and the errors of templates */
export function renderChart(chart: Chart, values: ValueMap, options: ChartRenderOptions): RenderedChart {
  const { release, capabilities = offlineCapabilities(), skipSchema = false } = options
  const warnings: string[] = []
  const warn: Warn = (message) => void warnings.push(message)
  checkInstallable(chart, release, warn)

  const resolved = resolveDependencies(chart, values, warn)
  const coalesced = coalesceValues(resolved, values, warn)
  if (!skipSchema) checkValues(resolved, coalesced)
  checkKubeVersion(chart, capabilities)

  const sources = templateData(resolved, coalesced, release, capabilities).flatMap((each) => templateSources(each))
  const files = renderTemplates(sources, options.templates)
  const manifests = [...files].filter(([path]) => !path.endsWith('NOTES.txt'))
  return {
    ...sortManifests(new Map(manifests)),
    crds: chartCrds(resolved),
    notes: validText(files.get(`${chart.metadata.name}/templates/NOTES.txt`) ?? ''),
    warnings: [...new Set(warnings)],
  }
}

/** A library contributes definitions only. */
function templateSources({ chart, path, data }: ReturnType<typeof templateData>[number]): readonly TemplateSource[] {
  const isPartial = (name: string): boolean => name.slice(name.lastIndexOf('/') + 1).startsWith('_')
  return chart.templates
    .filter(({ name }) => !isLibrary(chart) || isPartial(name))
    .map((file) => ({
      name: `${path}/${file.name}`,
      text: bytesText(file.data),
      basePath: `${path}/templates`,
      data,
    }))
}

function checkInstallable(chart: Chart, release: Release, warn: Warn): void {
  const { name, type, deprecated } = chart.metadata
  if (isLibrary(chart)) throw new MusterError(renderErrors.InvalidChart, `${name}: ${type} charts are not installable.`)
  if (deprecated) warn('this chart is deprecated')
  const missing = missingDependencies(chart)
  if (missing.length > 0) {
    throw new MusterError(
      renderErrors.InvalidChart,
      `${name}: dependencies of Chart.yaml are missing in charts/: ${missing.join(', ')}. Run helm dependency build.`,
    )
  }
  const parts = release.name.split('.')
  const isName =
    parts.every((part) => /^[a-z0-9]+(?:-+[a-z0-9]+)*$/.test(part)) && release.name.length <= longestRelease
  if (!isName) {
    const rule = `lower-case letters, digits, dashes and dots, at most ${longestRelease} characters`
    throw new MusterError(renderErrors.InvalidValues, `"${release.name}" is no name of a release: ${rule}.`)
  }
}

function checkKubeVersion({ metadata }: Chart, { kubeVersion }: Capabilities): void {
  if (metadata.kubeVersion === '' || isVersionInRange(metadata.kubeVersion, kubeVersion.normalized)) return
  throw new MusterError(
    renderErrors.InvalidChart,
    `chart ${metadata.name} requires kubeVersion: ${metadata.kubeVersion} which is incompatible with Kubernetes ${kubeVersion.version}.`,
  )
}
