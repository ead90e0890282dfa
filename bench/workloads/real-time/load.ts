/**
 * Generator and mimicked execution: creates the AppWrappers of a suite at their times, completes each wrapped object when its run
 * time is over, and notes when each AppWrapper was created, admitted and finished.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../../src/client/client.ts'
import { isConditionTrue } from '../../../src/kube/meta/condition.ts'
import { resourceOf } from '../../../src/kube/typed-resource.ts'
import type { KubeObject } from '../../../src/kube/object.ts'
import { AppWrapper } from '../../../src/workloads/appwrapper/appwrapper.ts'
import { appWrapper, namespace, nominal, queuesOf, runKind, type Suite, type WorkloadClass } from './suites.ts'

const runs = resourceOf<KubeObject>(`${runKind.group}/${runKind.version}`, runKind.kind, {
  plural: runKind.plural,
  namespaced: true,
})

export interface SuiteResult {
  readonly wallMs: number
  /** Of the nominal quota, from the first to the last event, in percent. */
  readonly usage: number
  /** Average milliseconds from creation to admission, by class. */
  readonly waits: ReadonlyMap<string, number>
  readonly evictions: number
}

interface Observed {
  readonly size: WorkloadClass
  createdAt: number
  admittedAt?: number
  endedAt?: number
}

export async function runSuite(client: Client, suite: Suite, log: (line: string) => void): Promise<SuiteResult> {
  const sizes = new Map(suite.classes.map((one) => [one.name as string, one]))
  const observed = new Map<string, Observed>()
  const total = suite.cohorts * suite.queues * suite.classes.reduce((sum, { count }) => sum + count, 0)
  const stopped = new AbortController()
  const left = new Map<string, unknown>()
  let used = 0
  let evictions = 0
  let ended = 0
  const done = Promise.withResolvers<void>()

  const seen = (object: KubeObject & { readonly status?: unknown }, now: number): void => {
    const one = observed.get(object.metadata.name ?? '')
    if (!one || one.endedAt !== undefined) return
    const { conditions, phase } = (object.status ?? {}) as { conditions?: never[]; phase?: string }
    const isReserved = isConditionTrue(conditions, 'QuotaReserved')
    if (isReserved && one.admittedAt === undefined) one.admittedAt = now
    if (!isReserved && one.admittedAt !== undefined && phase !== 'Succeeded') {
      evictions++
      used += (now - one.admittedAt) * one.size.cpu
      delete one.admittedAt
    }
    left.set(object.metadata.name ?? '', object.status)
    if (phase !== 'Succeeded') return
    left.delete(object.metadata.name ?? '')
    one.endedAt = now
    used += (now - (one.admittedAt ?? now)) * one.size.cpu
    if (++ended === total) done.resolve()
  }
  const watching = watchAll(client, AppWrapper, stopped.signal, seen)
  const running = new Set<string>()
  const executing = watchAll(client, runs, stopped.signal, (object) => {
    const { name = '', uid = '', labels = {} } = object.metadata
    if (running.has(uid)) return
    running.add(uid)
    void sleep(sizes.get(labels['size'] ?? '')!.runMs).then(() => complete(client, name))
  })

  const begun = Date.now()
  let endedBefore = 0
  const reports = setInterval(() => {
    const seconds = ((Date.now() - begun) / 1000).toFixed(0)
    log(`  ${seconds} s: ${observed.size} created, ${ended} ended, ${evictions} evictions`)
    if (ended === endedBefore && ended > 0) done.reject(new Error(`no progress: ${describeLeft(left)}`))
    endedBefore = ended
  }, 10_000)
  await Promise.all(
    queuesOf(suite).flatMap((queue) =>
      suite.classes.map(async (size) => {
        for (let index = 0; index < size.count; index++) {
          const due = begun + index * size.everyMs
          if (due > Date.now()) await sleep(due - Date.now())
          const object = appWrapper(queue, size, index)
          observed.set(object.metadata.name!, { size, createdAt: Date.now() })
          await client.create(AppWrapper, object)
        }
      }),
    ),
  )
  await done.promise.finally(() => {
    clearInterval(reports)
    stopped.abort()
  })
  const wallMs = Date.now() - begun
  await Promise.allSettled([watching, executing])
  const waits = new Map<string, number>()
  for (const { name } of suite.classes) {
    const some = [...observed.values()].filter(({ size }) => size.name === name)
    waits.set(
      name,
      some.reduce((sum, { createdAt, admittedAt = createdAt }) => sum + admittedAt - createdAt, 0) / some.length,
    )
  }
  return { wallMs, usage: (used * 100) / (nominal * suite.cohorts * suite.queues * wallMs), waits, evictions }
}

function describeLeft(left: ReadonlyMap<string, unknown>): string {
  return [...left]
    .slice(0, 3)
    .map(([name, status]) => `${name} ${JSON.stringify(status)}`)
    .join('; ')
}

async function complete(client: Client, name: string): Promise<void> {
  const status = { conditions: [{ type: 'Complete', status: 'True' }] }
  // It may have been deleted: its AppWrapper was evicted.
  await client
    .patch(runs, { name, namespace }, { status }, { type: 'merge', subresource: 'status' })
    .catch(() => undefined)
}

async function watchAll(
  client: Client,
  resource: Parameters<Client['watch']>[0],
  signal: AbortSignal,
  onObject: (object: KubeObject & { readonly status?: unknown }, now: number) => void,
): Promise<void> {
  while (!signal.aborted) {
    const watch = client.watch(resource, { namespace, sendInitialEvents: true, allowBookmarks: true, signal })
    try {
      for await (const event of watch) {
        if (event.type === 'ERROR') break
        if (event.type !== 'BOOKMARK' && event.type !== 'DELETED') onObject(event.object, Date.now())
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}
