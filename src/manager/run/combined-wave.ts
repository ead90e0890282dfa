/**
 * One write an object. A wave may want several things of one object: what agrees is sent as one, what contradicts is not
 * sent at all, for the two would undo each other in every run.
 *
 * Two applies agree when their merge holds all that each of them wants. Status is written on its own, as the server has it.
 */
import { mergeValues } from '../../kube/apply/merge.ts'
import { shapeOf } from '../../kube/apply/shape.ts'
import { equalJson, type JsonObject } from '../../kube/json.ts'
import { formatResource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { typingOf } from '../../operator/desired.ts'
import { differences } from '../../operator/difference.ts'
import { type Mutation, mutationName, type Wave } from '../../operator/plan.ts'

/** What is sent for some of a wave's mutations, or why nothing is. */
export interface Combined {
  readonly mutation: Mutation
  /** Positions in the wave that it answers. */
  readonly positions: readonly number[]
  /** What they disagree about, as paths: then it is not sent. */
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

/** `deployments.apps/v1 default/a`; status is another thing to write than the rest. */
export function targetOf(mutation: Mutation): string {
  const { namespace = '', name } = mutationName(mutation)
  const part = mutation.verb === 'status' ? ' status' : ''
  return `${formatResource(mutation.resource)} ${namespace}/${name}${part}`
}

/** One that does what both do; or the paths about which they disagree. */
function together(a: Mutation, b: Mutation): Mutation | readonly string[] {
  if (a.verb === 'apply' && b.verb === 'apply') {
    // Taking over others' fields is each one's own decision.
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
  // One wants it to be, the other to be gone.
  return ['']
}

type Holder = Extract<Mutation, { readonly object: UntypedObject }>

function mergedObjects(a: Holder, b: Holder): UntypedObject | readonly string[] {
  const typing = typingOf(a.resource)
  const [first, second] = [a, b].map(({ object }) => object as unknown as JsonObject) as [JsonObject, JsonObject]
  const merged = mergeValues(first, second, shapeOf(typing.schema, typing.definitions)) as JsonObject
  const lost = [...differences(merged, first, typing), ...differences(merged, second, typing)]
  return lost.length > 0 ? lost : (merged as unknown as UntypedObject)
}

function isPaths(value: UntypedObject | readonly string[]): value is readonly string[] {
  return Array.isArray(value)
}
