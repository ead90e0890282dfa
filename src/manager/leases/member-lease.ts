/**
 * A member of a group of replicas, as its Lease describes it. Besides the usual times, an annotation holds what members
 * tell each other: the number of this renewal, and which other members they count.
 *
 * A life begins when a member joins, and ends when others may have given it up; it then joins again, in a new life.
 */
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import { durationOf, type LeaseName, microTime } from './lease.ts'

export const groupLabel = 'muster.dev/shards'
const annotation = 'muster.dev/member'

export interface MemberRecord {
  /** The name of its lease. */
  readonly name: string
  readonly identity: string
  readonly weight: number
  readonly life: string
  /** The number of this renewal, counted by the member. */
  readonly renewal: number
  /** The lives of the members that it counts. */
  readonly counts: ReadonlySet<string>
  readonly lastsMs: number
  /** It is leaving, and has stopped its work. */
  readonly isReleased: boolean
  readonly lease: Lease
}

export function readMember(lease: Lease, fallbackMs: number): MemberRecord {
  const { name = '', uid = '', annotations } = lease.metadata
  const said = parsed(annotations?.[annotation])
  const { life, renewal, weight } = said
  return {
    name,
    identity: lease.spec?.holderIdentity ?? '',
    weight: typeof weight === 'number' && weight > 0 ? weight : 1,
    // A lease without the annotation is a member as well, one that counts no other.
    life: typeof life === 'string' ? life : uid,
    renewal: typeof renewal === 'number' ? renewal : Date.parse(lease.spec?.renewTime ?? '') || 0,
    counts: new Set(strings(said['counts'])),
    lastsMs: durationOf(lease, fallbackMs),
    isReleased: !lease.spec?.holderIdentity,
    lease,
  }
}

interface Renewal {
  readonly group: LeaseName
  readonly identity: string
  readonly pod?: { readonly name: string; readonly uid: string } | undefined
  readonly weight: number
  readonly life: string
  readonly since: number
  readonly renewal: number
  readonly counts: readonly string[]
  readonly leaseDurationMs: number
}

export function memberLeaseName(group: LeaseName, identity: string): string {
  return `${group.name}-${identity}`
}

/** The lease of a member, based on its previous version. */
export function writeMember(before: Lease | undefined, said: Renewal, now: number): Lease {
  const { group, identity, weight, life, renewal, counts } = said
  const { namespace } = group
  const earlier = before?.spec?.leaseTransitions ?? 0
  const isSameLife = before !== undefined && readMember(before, said.leaseDurationMs).life === life
  const metadata = before?.metadata ?? {
    namespace,
    name: memberLeaseName(group, identity),
    // A Pod that was killed leaves no lease behind.
    ...(said.pod && { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', ...said.pod }] }),
  }
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [groupLabel]: group.name },
      annotations: { ...metadata.annotations, [annotation]: stringifyJson({ life, renewal, weight, counts }) },
    },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: said.leaseDurationMs / 1000,
      acquireTime: microTime(said.since),
      renewTime: microTime(now),
      leaseTransitions: !before || isSameLife ? earlier : earlier + 1,
    },
  }
}

/** The lease of a member that leaves. */
export function releasedLease(lease: Lease, now: number): Lease {
  const { leaseTransitions = 0 } = lease.spec ?? {}
  const time = microTime(now)
  return { ...lease, spec: { leaseDurationSeconds: 1, acquireTime: time, renewTime: time, leaseTransitions } }
}

function parsed(text: string | undefined): JsonObject {
  try {
    const said = parseJson(text ?? '')
    return isJsonObject(said) ? said : {}
  } catch {
    return {}
  }
}

function strings(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
}
