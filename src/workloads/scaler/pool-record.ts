/**
 * What the scaler stores on pools, machines and nodes. An annotation of the pool says how many of its machines were added, and for
 * which workload; it is written together with the replicas. Labels with the names that InstaScale gave them are for people and for
 * jobs that select their nodes.
 */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { formatMicroTime, parseTime } from '../../kube/units/duration.ts'
import { desiredHash } from '../../operator/dependent/desired.ts'
import { emptyRecord, type IdleMachines, type NodeClaim, type PoolRecord } from '../core/scale/node-pool.ts'

const prefix = 'instascale.codeflare.dev'

/** On a pool: whose machines were added. */
export const recordAnnotation: string = `${prefix}/machines`
/** On a machine and its node: the uid of the workload that it is for; empty for one that is idle. */
export const ownerAnnotation: string = `${prefix}/workload`
/** On a machine and its node: the key of the label that it has for its workload. */
export const labelAnnotation: string = `${prefix}/label`
/** On a pool that was made for a workload: which one. */
export const madeForLabel: string = `${prefix}-aw`
/** On a pool that was made for a workload: the uid of the pool that it is a copy of. */
export const patternAnnotation: string = `${prefix}/pattern`
/** On a node of a managed pool: its pool. */
export const poolLabel: string = `${prefix}/pool`
/** On a pool, with the value `"false"`: it is not scaled. */
export const scaledAnnotation: string = `${prefix}/scaled`

/** Longer ones are not read: the pool then counts as one that was never scaled. */
const mostText = 256 * 1024

export function parseRecord(text: string | undefined): PoolRecord {
  if (text === undefined || text.length > mostText) return emptyRecord
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return emptyRecord
  }
  if (!isJsonObject(value)) return emptyRecord
  return {
    claims: items(value['claims']).flatMap((each) => parseClaim(each) ?? []),
    idle: items(value['idle']).flatMap((each) => parseIdle(each) ?? []),
    failures: countIn(value['failures']),
    notBefore: timeIn(value['notBefore']),
  }
}

/** Null without a content. */
export function formatRecord({ claims, idle, failures, notBefore }: PoolRecord): string | null {
  if (claims.length + idle.length + failures + notBefore === 0) return null
  const time = (ms: number): string => formatMicroTime(ms)
  return JSON.stringify({
    ...(claims.length > 0 && { claims: claims.map(({ since, ...claim }) => ({ ...claim, since: time(since) })) }),
    ...(idle.length > 0 && {
      idle: idle.map(({ count, since }) => ({ count, ...(since > 0 && { since: time(since) }) })),
    }),
    ...(failures > 0 && { failures }),
    ...(notBefore > 0 && { notBefore: time(notBefore) }),
  })
}

function items(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

function parseClaim(value: Json): NodeClaim | undefined {
  if (!isJsonObject(value)) return undefined
  const { workload, namespace, name } = value
  const count = countIn(value['count'])
  if (typeof workload !== 'string' || typeof namespace !== 'string' || typeof name !== 'string') return undefined
  return workload !== '' && count > 0 ? { workload, namespace, name, count, since: timeIn(value['since']) } : undefined
}

function parseIdle(value: Json): IdleMachines | undefined {
  const count = isJsonObject(value) ? countIn(value['count']) : 0
  return isJsonObject(value) && count > 0 ? { count, since: timeIn(value['since']) } : undefined
}

function countIn(value: Json | undefined): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

function timeIn(value: Json | undefined): number {
  return typeof value === 'string' ? (parseTime(value) ?? 0) : 0
}

/** The label of machines and nodes for a workload, key and value alike: `NAME-NAMESPACE`. */
export function workloadLabel({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return shortened(`${name}-${namespace}`, 63)
}

/** The label of a pool that has machines for a workload; its value is how many. */
export function claimLabel(claim: Pick<NodeClaim, 'namespace' | 'name'>): string {
  return shortened(`${prefix}-${claim.name}-${claim.namespace}`, 63)
}

export function isClaimLabel(key: string): boolean {
  return key.startsWith(`${prefix}-`) && key !== madeForLabel
}

/** Names that differ only at their end still differ. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const hash = desiredHash(text).slice(0, 8)
  let end = most - hash.length - 1
  while (end > 0 && !/[A-Za-z0-9]/.test(text[end - 1]!)) end--
  return `${text.slice(0, end)}-${hash}`
}
