/** One render of a chart as data: what a thread is asked for, and what it answers. */
import type { ChartFiles } from '../archive/archive.ts'
import { type ClusterCapabilities, offlineCapabilities, recordCapabilities } from '../chart/capabilities.ts'
import { loadChart } from '../chart/load-chart.ts'
import { type RenderedChart, renderChart } from '../chart/render-chart.ts'
import type { Release } from '../chart/template-data.ts'
import type { ValueMap } from '../chart/values.ts'
import { type GeneratedValues, recordGenerated, type RecordSources } from '../generated/generated-values.ts'
import { type LookupAnswer, type LookupQuestion, recordLookups } from '../generated/lookups.ts'
import type { RenderBudget } from '../template/budget.ts'

export interface ChartRequest {
  readonly files: ChartFiles
  /** How messages name the chart, such as its folder. @default 'chart' */
  readonly source?: string | undefined
  /** The user's values. */
  readonly values: ValueMap
  readonly release: Release
  readonly kubeVersion?: string | undefined
  /** In addition to those that Helm assumes. */
  readonly apiVersions?: readonly string[] | undefined
  /** The cluster that it is installed in, instead of both. @default no particular one, and nothing is asked */
  readonly cluster?: ClusterCapabilities | undefined
  /** @default false */
  readonly skipSchema?: boolean | undefined
  /** Values that earlier renders of the installation generated. @default none */
  readonly generated?: GeneratedValues | undefined
  /** Live objects for `lookup`. @default it finds nothing, as in `helm template`, and nothing is asked for */
  readonly lookups?: readonly LookupAnswer[] | undefined
  readonly budget?: RenderBudget | undefined
}

export interface ChartResult extends RenderedChart {
  /** To be stored, and given to the next render. */
  readonly generated: GeneratedValues
  /** Live objects that it needs and was not given. If there are any, the rest of the result is nothing to go by. */
  readonly asked: readonly LookupQuestion[]
  /** With `cluster`: the API versions that it asked about. If one has no answer, the rest of the result is nothing to go by. */
  readonly askedApis: readonly string[]
}

interface RequestSources {
  readonly randomBytes: RecordSources['randomBytes']
  readonly clock: { now(): number }
  /** Fails with StackExhausted if the stack of this thread is used up, so that another one renders it. @default false */
  readonly hasLargerStack?: boolean
}

/** Pure but for the sources of generated values. */
export function renderRequest(request: ChartRequest, sources: RequestSources): ChartResult {
  const { randomBytes, clock, hasLargerStack } = sources
  const warnings: string[] = []
  const chart = loadChart(request.files, (message) => void warnings.push(message), request.source)
  const lookups = request.lookups && recordLookups(request.lookups)
  const cluster = request.cluster && recordCapabilities(request.cluster)
  const record = recordGenerated(request.generated ?? {}, { randomBytes })
  try {
    const rendered = renderChart(chart, request.values, {
      release: request.release,
      capabilities: cluster?.capabilities ?? offlineCapabilities(request),
      skipSchema: request.skipSchema ?? false,
      templates: {
        generators: record.generators,
        clock,
        budget: request.budget,
        lookup: lookups?.lookup,
        hasLargerStack,
      },
    })
    const generated = record.values()
    const asked = lookups?.asked() ?? []
    const askedApis = cluster?.asked() ?? []
    return { ...rendered, warnings: [...warnings, ...rendered.warnings], generated, asked, askedApis }
  } catch (error) {
    const asked = lookups?.asked() ?? []
    // It may have failed because an object or a kind was not there: with the answers it is rendered again.
    if (asked.length === 0 && cluster?.isOpen() !== true) throw error
    const nothing = { manifests: [], hooks: [], crds: [], notes: '', generated: request.generated ?? {} }
    return { ...nothing, warnings, asked, askedApis: cluster?.asked() ?? [] }
  }
}
