/**
 * At most one write per object and wave. A wave may hold several mutations of one object: compatible ones are merged
 * into one request; contradicting ones are not sent at all, since they would undo each other in every reconcile.
 *
 * Two applies are compatible when their merge contains every field of both. Status is a write of its own, as it is a
 * subresource.
 */
import { mergeValues } from '../../kube/apply/merge.ts'
import { shapeOf } from '../../kube/apply/shape.ts'
import { equalJson, type JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { formatResource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { typingOf } from '../../operator/dependent/desired.ts'
import { differences } from '../../operator/dependent/difference.ts'
import { type Mutation, mutationName, type Wave } from '../../operator/plan.ts'

/** The request for some of a wave's mutations, or the reason why there is none. */
export interface Combined {
  readonly mutation: Mutation
  /** Indexes of the mutations in the wave that this request covers. */
  readonly positions: readonly number[]
  /** Field paths that contradict; if there are any, nothing is sent. */
  readonly contradictions: readonly string[]
}

export function combine(wave: Wave): readonly Combined[] {
  const found = new Map<string, Combined>()
  for (const [position, mutation] of wave.entries()) {
    const target = targetOf(mutation)
    const before = found.get(target)
    if (!before) {
      found.set(target, { mutation, positions: [position], contradictions: [] })
      continue
    }
    const both = together(before.mutation, mutation)
    const isOne = 'verb' in both
    found.set(target, {
      mutation: isOne ? both : before.mutation,
      positions: [...before.positions, position],
      contradictions: isOne ? before.contradictions : [...new Set([...before.contradictions, ...both])],
    })
  }
  return [...found.values()]
}

/** `deployments.apps/v1 default/a`; the status subresource is a target of its own. */
export function targetOf(mutation: Mutation): string {
  const { namespace = '', name } = mutationName(mutation)
  const part = mutation.verb === 'status' ? ' status' : ''
  return `${formatResource(mutation.resource)} ${namespace}/${name}${part}`
}

/** One mutation that does what both do, or the field paths that contradict. */
function together(a: Mutation, b: Mutation): Mutation | readonly string[] {
  if (a.verb === 'apply' && b.verb === 'apply') {
    // Each mutation decides for itself whether to take over fields of other field managers.
    if (a.force !== b.force) return ['force']
    const merged = mergedObjects(a, b)
    return isPaths(merged) ? merged : { ...a, object: merged }
  }
  if (a.verb === 'status' && b.verb === 'status') {
    const merged = mergedObjects(a, b)
    return isPaths(merged) ? merged : { ...a, object: merged }
  }
  if (a.verb === 'delete' && b.verb === 'delete') return a.uid === b.uid ? a : ['metadata.uid']
  if (a.verb === 'finalizers' && b.verb === 'finalizers') {
    return a.uid === b.uid && equalJson(a.finalizers, b.finalizers) ? a : ['metadata.finalizers']
  }
  if (a.verb === 'marks' && b.verb === 'marks') {
    const isSame =
      a.uid === b.uid &&
      equalJson(a.labels, b.labels) &&
      equalJson(a.annotations, b.annotations) &&
      equalJson(a.spec, b.spec)
    return isSame ? a : ['metadata']
  }
  // One applies the object, the other deletes it.
  return ['']
}

type Holder = Extract<Mutation, { readonly object: UntypedObject }>

function mergedObjects(a: Holder, b: Holder): UntypedObject | readonly string[] {
  const typing = typingOf(a.resource)
  const [first, second] = [asJson(a.object), asJson(b.object)]
  const merged = mergeValues(first, second, shapeOf(typing.schema, typing.definitions)) as JsonObject
  const lost = [...differences(merged, first, typing), ...differences(merged, second, typing)]
  return lost.length > 0 ? lost : asObject(merged)
}

function isPaths(value: UntypedObject | readonly string[]): value is readonly string[] {
  return Array.isArray(value)
}
