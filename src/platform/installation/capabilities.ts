/**
 * What a chart asks about the cluster (`.Capabilities`). A render is given answers, and says which API versions it asked about:
 * those are in the status with their answers, so that a new CRD renders only the charts that asked about it.
 *
 * CRDs that the Installation itself installs do not change an answer: a chart that leaves its CRD out once it is served would
 * delete it, and begin again.
 */
import { anyApi, type ClusterCapabilities } from '../../render/chart/capabilities.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import type { HeldObjects } from '../../operator/embedded/held-objects.ts'
import type { InstallationSpec } from './installation.ts'
import { isChartSource, type RenderedSource, type SourceRequest } from './render-source.ts'
import type { RevisionObject } from './revision.ts'

/** Whether the cluster serves an API version, by the question of a chart. */
type AnsweredApis = ClusterCapabilities['apis']

/** Says what the cluster serves. */
export type ApiReader = Pick<HeldObjects, 'served' | 'serverVersion'>

interface Asking {
  /** Without a cluster, no particular one is assumed. */
  readonly reader: ApiReader | undefined
  readonly spec: Pick<InstallationSpec, 'crds'>
  /** The answers of the last render. */
  readonly known: AnsweredApis
  /** Of the Installation. */
  readonly revisions: readonly RevisionObject[]
  readonly render: (request: SourceRequest) => Promise<RenderedSource>
}

interface RenderedForCluster {
  readonly rendered: RenderedSource
  /** What the chart asked about, with the answers. */
  readonly apis: AnsweredApis
}

/** A question may depend on an answer. */
const mostRounds = 10
/** Beyond this all answers are given, and each new CRD renders the chart again. */
const mostApis = 100

export async function renderForCluster(request: SourceRequest, asking: Asking): Promise<RenderedForCluster> {
  const { reader, spec, known, revisions, render } = asking
  if (!reader || !isChartSource(request.source)) return { rendered: await render(request), apis: {} }
  const kubeVersion = await reader.serverVersion()
  const own = ownGroups(revisions)
  const answer = async (asked: readonly string[], files: ReadonlySet<string>): Promise<AnsweredApis> => {
    const isAny = asked.includes(anyApi) || asked.length > mostApis
    const all = isAny ? [...(await reader.served()), ...files] : asked
    const served = new Set(isAny ? all : await reader.served(all))
    const isServed = (api: string): boolean =>
      files.has(api) || (own.has(groupOf(api)) ? known[api] === true : served.has(api))
    const answers = [...new Set(all)].toSorted().map((api) => [api, isServed(api)] as const)
    return Object.fromEntries(isAny ? [[anyApi, true], ...answers.filter(([, is]) => is)] : answers)
  }
  const apis: Record<string, boolean> = { ...(await answer(Object.keys(known), new Set())) }
  for (let round = 1; ; round++) {
    const rendered = await render({ ...request, cluster: { kubeVersion, apis: { ...apis } } })
    const files = spec.crds === 'skip' ? new Set<string>() : apisOfCrdFiles(rendered)
    const wanted = await answer(rendered.askedApis, files)
    const isAnswered = Object.entries(wanted).every(([api, is]) => apis[api] === is)
    if (isAnswered || round === mostRounds) return { rendered, apis: recorded(wanted) }
    Object.assign(apis, wanted)
  }
}

/** All answers would not fit into a status: that all were asked for is enough to ask for them again. */
function recorded(apis: AnsweredApis): AnsweredApis {
  return apis[anyApi] === true ? { [anyApi]: true } : apis
}

function groupOf(api: string): string {
  return api.includes('/') ? api.slice(0, api.indexOf('/')) : ''
}

/** The groups whose CRDs the Installation installs, or did. */
function ownGroups(revisions: readonly RevisionObject[]): ReadonlySet<string> {
  const objects = revisions.flatMap(({ spec }) => spec.phases.flatMap((phase) => phase.objects))
  const crds = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
  return new Set(crds.map(({ name }) => name.slice(name.indexOf('.') + 1)))
}

/** What the files in crds/ define: as with Helm, they are installed before the chart is rendered. */
function apisOfCrdFiles({ items }: RenderedSource): ReadonlySet<string> {
  const apis = items.flatMap(({ object, isCrdFile = false }) => {
    const { group, versions, names } = (object['spec'] ?? {}) as Partial<CustomResourceDefinition['spec']>
    if (!isCrdFile || !Array.isArray(versions)) return []
    return versions
      .filter(({ served }) => served)
      .flatMap(({ name }) => [`${group}/${name}`, `${group}/${name}/${names?.kind}`])
  })
  return new Set(apis)
}
