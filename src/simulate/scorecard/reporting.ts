/** Rules about what users see: the schema of a kind, the status of a CR. */
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { count, failed, passed, examinationReportOf, type Rule, some, Unexamined } from './examination.ts'
import type { ScorecardCluster } from './scorecard-cluster.ts'
import { isSameTarget, isWriteRequest, type ScorecardTarget } from './request.ts'

export const schema: Rule = {
  name: 'validates',
  asks: 'each kind has a schema for all its fields and a status subresource',
  run({ operator }) {
    const problems: string[] = []
    let fields = 0
    for (const kind of operator.kinds) {
      for (const { name, schema: validation, subresources } of kind.crd().spec.versions) {
        const place = `${kind.kind} ${name}`
        if (!subresources?.status) problems.push(`${place} has no status subresource`)
        const { spec } = validation?.openAPIV3Schema?.properties ?? {}
        if (!spec) problems.push(`${place} has no schema of its spec`)
        else problems.push(...untyped(spec, 'spec').map((path) => `${place} ${path} takes anything`))
        fields += spec ? fieldsIn(spec) : 0
      }
    }
    if (problems.length > 0) return Promise.resolve(failed(some(problems)))
    if (operator.kinds.length === 0) return Promise.reject(new Unexamined('it defines no kinds'))
    return Promise.resolve(passed(`${count(fields, 'field')} of specs, each with a type; status subresource`))
  },
}

/** Paths without a type in the schema. */
function untyped(at: JSONSchemaProps, path: string): readonly string[] {
  if (at['x-kubernetes-preserve-unknown-fields'] && !at['x-kubernetes-embedded-resource']) return [path]
  if (at.type === undefined && !at['x-kubernetes-int-or-string']) return [path]
  const members = Object.entries(at.properties ?? {}).flatMap(([name, member]) => untyped(member, `${path}.${name}`))
  const values = typeof at.additionalProperties === 'object' ? untyped(at.additionalProperties, `${path}.*`) : []
  const items = at.items ? untyped(at.items as JSONSchemaProps, `${path}[]`) : []
  return [...members, ...values, ...items]
}

function fieldsIn({ properties = {} }: JSONSchemaProps): number {
  return Object.values(properties).reduce((sum, member) => sum + 1 + fieldsIn(member), 0)
}

export const status: Rule = {
  name: 'reports status',
  asks: 'the status has the observed generation, Ready when everything is, and a reason otherwise',
  async run(examination) {
    const cluster = await examination.atRest()
    const problems: string[] = []
    for (const cr of cluster.crs) problems.push(...(await faultsAtRest(cluster, cr)))
    if (problems.length > 0) return failed(some(problems))
    const { silent, stuck, shown } = await writeOutage(await examination.fresh())
    if (silent.length > 0) return failed(`${some(silent)}, though nothing could be written`)
    if (stuck.length > 0) return failed(`${some(stuck)}, though writes succeed again`)
    const told =
      shown === undefined
        ? 'it writes nothing that could fail'
        : `while writes fail: ${shown}; and well again afterwards`
    return passed(`Ready and of the current generation at rest; ${told}`)
  },
}

async function faultsAtRest(cluster: ScorecardCluster, cr: ScorecardTarget): Promise<readonly string[]> {
  const object = await cluster.find(cr)
  if (!object) return [`${cr.name} is gone`]
  const { generation, observedGeneration, conditions, isReady, falseConditions } = examinationReportOf(object)
  const place = `${object.kind} ${cr.name}`
  const incomplete = conditions.filter(({ reason, lastTransitionTime }) => !reason || !lastTransitionTime)
  return [
    ...(observedGeneration === generation
      ? []
      : [`${place} has observedGeneration ${observedGeneration} of ${generation}`]),
    ...(conditions.length === 0 ? [`${place} has no conditions`] : []),
    ...(isReady || conditions.length === 0
      ? []
      : [`${place} is not ready at rest: ${falseConditions[0] ?? 'no condition says so'}`]),
    ...incomplete.map(({ type }) => `${place}: condition ${type} has no reason or no time`),
  ]
}

interface WriteOutage {
  readonly silent: readonly string[]
  readonly stuck: readonly string[]
  /** The conditions of the first CR. */
  readonly shown: string | undefined
}

/** Makes all writes of the operator fail, and then succeed again. */
async function writeOutage(cluster: ScorecardCluster): Promise<WriteOutage> {
  let refusals = 0
  cluster.refuse((request) => {
    const { target } = request
    const isOwn = target !== undefined && cluster.crs.some((cr) => isSameTarget(cr, target))
    if (!isWriteRequest(request) || isOwn) return false
    refusals++
    return true
  })
  await cluster.begin()
  await cluster.clock.advance(600_000)
  if (refusals === 0) return { silent: [], stuck: [], shown: undefined }
  const silent: string[] = []
  const stuck: string[] = []
  let shown: string | undefined
  const reports = async (): Promise<readonly (readonly [ScorecardTarget, ReturnType<typeof examinationReportOf>])[]> =>
    await Promise.all(cluster.crs.map(async (cr) => [cr, examinationReportOf((await cluster.find(cr))!)] as const))
  const duringOutage = await reports()
  if (duringOutage.every(([, { isReady, falseConditions }]) => isReady || falseConditions.length === 0)) {
    silent.push(`no CR says that it is not ready`)
  }
  for (const [, { falseConditions }] of duringOutage) shown ??= falseConditions[0]?.split(':')[0]
  cluster.refuse(undefined)
  await cluster.clock.advance(600_000)
  await cluster.rest()
  for (const [cr, { isReady, falseConditions }] of await reports()) {
    if (!isReady) stuck.push(`${cr.name} still says ${falseConditions[0] ?? 'nothing'}`)
  }
  return { silent, stuck, shown }
}
