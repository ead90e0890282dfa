/** Rules about repetition: idempotence, no writes at rest, restarts, crashes. */
import type { UntypedObject } from '../../kube/object.ts'
import { count, type Examination, failed, passed, type Rule, some, Unexamined } from './examination.ts'
import type { ScorecardCluster } from './scorecard-cluster.ts'
import {
  type ChanceValue,
  chanceBetween,
  differencesBetween,
  type ClusterSnapshot,
  snapshotOf,
} from './cluster-snapshot.ts'
import { isCall, isWriteRequest, type Request } from './request.ts'

/** `PATCH /apis/apps/v1/…` */
export function shown({ method, path }: Request): string {
  return `${method} ${path.split('?')[0]}`
}

export const idempotent: Rule = {
  name: 'idempotent',
  asks: 'the same state leads to the same requests, and an event without a change to no write',
  async run(examination) {
    const [first, second] = [await examination.atRest(), await examination.atRest()]
    const [one, other] = [writesOf(first), writesOf(second)]
    const at = one.findIndex((text, index) => text !== other[index])
    if (at >= 0 || one.length !== other.length) {
      const place = at >= 0 ? at : one.length
      return failed(`write ${place + 1} differs between two runs: ${head(one[place])} and ${head(other[place])}`)
    }
    const before = second.requests.length
    await touch(second)
    if (!(await second.rest())) return failed('an event that changes nothing sets it off, and it never rests again')
    const writes = second.requests.slice(before).filter(isWriteRequest)
    if (writes.length > 0) return failed(`an event that changes nothing made it write: ${some(writes.map(shown))}`)
    return passed(`${count(one.length, 'write')} in two runs, the same; none for an event that changes nothing`)
  },
}

function writesOf({ requests }: ScorecardCluster): readonly string[] {
  return requests.filter(isWriteRequest).map((request) => `${shown(request)} ${request.body ?? ''}`)
}

function head(text: string | undefined): string {
  return text === undefined ? 'none' : text.slice(0, text.indexOf(' ', text.indexOf(' ') + 1))
}

/** Applies the existing fields as another manager: the objects get a new version without a change. */
async function touch(cluster: ScorecardCluster): Promise<void> {
  for (const cr of cluster.crs) {
    const object = await cluster.find(cr)
    if (!object) continue
    const { name, namespace } = cr
    const { apiVersion, kind } = object
    const same = { apiVersion, kind, metadata: { name, ...(namespace !== undefined && { namespace }) } }
    const said = { ...same, ...(object['spec'] !== undefined && { spec: object['spec'] }) } as UntypedObject
    await cluster.client.apply(cr.resource, said, { fieldManager: 'somebody-else', force: true })
  }
}

export const quiet: Rule = {
  name: 'quiet at rest',
  asks: 'no request is sent in a day without changes',
  async run(examination) {
    const cluster = await examination.fresh()
    await cluster.begin()
    if (!(await cluster.rest())) {
      const last = cluster.requests.filter(isWriteRequest).slice(-3)
      return failed(`it never comes to rest; its last writes: ${some(last.map(shown))}`)
    }
    cluster.haltWorkloads()
    const [sent, reconciles] = [cluster.requests.length, cluster.ledgers.length]
    await cluster.clock.advance(examination.restMs)
    const calls = cluster.requests.slice(sent).filter(isCall)
    if (calls.length > 0)
      return failed(`${count(calls.length, 'request')} in ${spanOf(examination.restMs)}: ${some(calls.map(shown))}`)
    const looks = cluster.ledgers.length - reconciles
    return passed(
      `no request in ${spanOf(examination.restMs)}${looks > 0 ? `, though it looked ${count(looks, 'time')}` : ''}`,
    )
  },
}

function spanOf(ms: number): string {
  const hours = Math.round(ms / 3600_000)
  return hours === 24 ? 'a day' : count(hours, 'hour')
}

export const restart: Rule = {
  name: 'survives a restart',
  asks: 'a new process writes nothing',
  async run(examination) {
    const cluster = await examination.atRest()
    await cluster.stop()
    const before = cluster.requests.length
    const reconciled = cluster.ledgers.length
    await cluster.start()
    if (!(await cluster.rest())) return failed('it never comes to rest after a restart')
    const writes = cluster.requests.slice(before).filter(isWriteRequest)
    if (writes.length > 0) return failed(`${count(writes.length, 'write')}: ${some(writes.map(shown))}`)
    return passed(`${count(cluster.ledgers.length - reconciled, 'reconcile')}, no write`)
  },
}

/** The most crashes; with more writes they are spread evenly. */
const mostCrashes = 40

export const crash: Rule = {
  name: 'survives a crash',
  asks: 'after a crash behind any write, a new process reaches the same state',
  async run(examination) {
    const cluster = await examination.atRest()
    const expected = await snapshotOf(cluster)
    // Random values differ after a crash; they are detected, not declared.
    const chance = chanceBetween(expected, await snapshotOf(await examination.atRest(2)))
    const writes = cluster.requests.filter(isWriteRequest)
    await examination.closeAll()
    const step = Math.max(1, writes.length / mostCrashes)
    let crashes = 0
    for (let at = 1; at <= writes.length; at += step) {
      const difference = await crashAt(examination, Math.floor(at), expected, chance)
      if (difference === undefined) continue
      crashes++
      if (difference.length > 0) {
        return failed(`after a crash behind ${shown(writes[Math.floor(at) - 1]!)}: ${some(difference)}`)
      }
      await examination.closeAll()
    }
    if (crashes === 0) throw new Unexamined('it writes nothing')
    const where = step === 1 ? 'one behind each write' : `spread over ${writes.length} writes`
    return passed(`${count(crashes, 'crash', 'crashes')}, ${where}; the same end each time`)
  },
}

/** The differences at the end; undefined when it came to rest before that write. */
async function crashAt(
  examination: Examination,
  write: number,
  expected: ClusterSnapshot,
  chance: ChanceValue,
): Promise<readonly string[] | undefined> {
  const cluster = await examination.fresh()
  cluster.crashAfter(write)
  await cluster.begin()
  await cluster.rest()
  if (!cluster.hasCrashed) return undefined
  await cluster.stop()
  cluster.crashAfter(Infinity)
  await cluster.start()
  if (!(await cluster.rest())) return ['it never comes to rest']
  return differencesBetween(expected, await snapshotOf(cluster), chance)
}
