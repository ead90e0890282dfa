/** Rules about changes and deletion of a CR. */
import { formatPath } from '../../kube/apply/path-element.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { changeField, ownedSpecFields, writeField } from './change.ts'
import {
  count,
  declarationOf,
  failed,
  named,
  passed,
  examinationReportOf,
  type Rule,
  some,
  Unexamined,
} from './examination.ts'
import type { Child, ScorecardCluster } from './scorecard-cluster.ts'
import { isSameTarget, isWriteRequest, type Request, type ScorecardTarget } from './request.ts'

export const follows: Rule = {
  name: 'follows its CR',
  asks: 'a change of any spec field takes effect, or the status gives a reason',
  async run(examination) {
    const cluster = await examination.atRest()
    const problems: string[] = []
    const told: string[] = []
    let changes = 0
    for (const cr of cluster.crs) {
      const original = (await cluster.find(cr))!
      const before = signatureOf(original)
      for (const path of ownedSpecFields(original)) {
        const now = (await cluster.find(cr))!
        const changed = await changeField(cluster.client, cr, now, path, 'change')
        if (!changed) continue
        changes++
        const place = `${original.kind} ${formatPath(path)}`
        problems.push(...(await unseen(cluster, cr, `${place} changed`)))
        const { falseConditions } = examinationReportOf((await cluster.find(cr))!)
        if (falseConditions[0] !== undefined) told.push(`${place}: ${falseConditions[0]}`)
        await writeField(cluster.client, cr, (await cluster.find(cr))!, path, changed.before)
        problems.push(...(await unseen(cluster, cr, `${place} changed back`)))
        const after = signatureOf((await cluster.find(cr))!)
        if (after !== before) problems.push(`${place} changed and changed back: ${after}, where it was ${before}`)
        if (problems.length > 0) return failed(some(problems))
      }
    }
    if (changes === 0) throw new Unexamined('its CR has no field that could be changed')
    const reasons =
      told.length > 0 ? `; ${count(told.length, 'of them', 'of them')} with a reason why not: ${told[0]}` : ''
    return passed(`${count(changes, 'field')} changed and changed back${reasons}`)
  },
}

async function unseen(cluster: ScorecardCluster, cr: ScorecardTarget, what: string): Promise<readonly string[]> {
  if (!(await cluster.rest())) return [`${what}: it never comes to rest`]
  const { generation, observedGeneration } = examinationReportOf((await cluster.find(cr))!)
  return observedGeneration === generation ? [] : [`${what}: generation ${generation} is not observed`]
}

/** `Ready True, Reconciled True` */
function signatureOf(cr: UntypedObject): string {
  const { conditions } = examinationReportOf(cr)
  return conditions
    .map(({ type, status }) => `${type} ${status}`)
    .toSorted()
    .join(', ')
}

export const finalizes: Rule = {
  name: 'finalizes',
  asks: 'a deleted CR is removed with all its dependents, and not before',
  async run(examination) {
    const cluster = await examination.atRest()
    const problems = [...finalizerFaults(cluster)]
    const children = await cluster.children()
    const uids = new Set<string>()
    for (const cr of cluster.crs) uids.add((await cluster.find(cr))?.metadata.uid ?? '')
    cluster.onWrite(async (request) => {
      const cr = cluster.crs.find((one) => request.target && isSameTarget(one, request.target))
      if (!cr || request.subresource !== '' || (await hasFinalizer(cluster, cr))) return
      const early = (await cluster.children()).filter((child) => isOnItsOwn(child, uids) && !isKept(cluster, child))
      for (const child of early) problems.push(`the finalizer went while ${named(child)} was still there`)
    })
    for (const { resource, name, namespace } of cluster.crs) {
      await cluster.client.delete(resource, { name, namespace })
      await cluster.clock.advance(600_000)
    }
    await cluster.rest()
    for (const cr of cluster.crs) {
      const left = await cluster.find(cr)
      if (!left) continue
      const { falseConditions } = examinationReportOf(left)
      problems.push(
        `${left.kind} ${cr.name} is still there after ten minutes: ${falseConditions[0] ?? 'no reason given'}`,
      )
    }
    const leftovers = (await cluster.children()).filter((child) => !isKept(cluster, child))
    // While the CR still has a finalizer its children may exist.
    if (problems.length === 0) problems.push(...leftovers.map((child) => `${named(child)} is left behind`))
    if (problems.length > 0) return failed(some(problems))
    const kept = children.filter((child) => isKept(cluster, child))
    const note = kept.length > 0 ? `; ${kept.map(named).join(', ')} stays, as declared` : ''
    return passed(`the CR and ${count(children.length - kept.length, 'object')} are gone${note}`)
  },
}

async function hasFinalizer(cluster: ScorecardCluster, cr: ScorecardTarget): Promise<boolean> {
  const { finalizers = [] } = (await cluster.find(cr))?.metadata ?? {}
  return finalizers.length > 0
}

/** Without an owner reference: only the operator would delete it. */
function isOnItsOwn({ object }: Child, uids: ReadonlySet<string>): boolean {
  return !(object.metadata.ownerReferences ?? []).some(({ uid }) => uids.has(uid))
}

/** Declared to outlive its CR. */
function isKept(cluster: ScorecardCluster, child: Child): boolean {
  return declarationOf(cluster, child)?.ownership === 'none'
}

/** A finalizer must be added before the first effect, and have a unique name. */
function finalizerFaults({ requests, crs }: ScorecardCluster): readonly string[] {
  const writes = requests.filter(isWriteRequest)
  const isOnCr = ({ target, subresource }: Request): boolean =>
    target !== undefined && subresource === '' && crs.some((cr) => isSameTarget(cr, target))
  const added = writes.findIndex((request) => isOnCr(request) && request.body?.includes('"finalizers"'))
  if (added < 0) return []
  const first = writes.findIndex((request) => !isOnCr(request))
  const names = [...(writes[added]?.body ?? '').matchAll(/"finalizers":\["([^"]*)"/g)].map(([, name = '']) => name)
  return [
    ...(first >= 0 && first < added ? ['the finalizer came after the first write'] : []),
    ...names.filter((name) => !name.includes('/')).map((name) => `the finalizer ${name} is not qualified`),
  ]
}
