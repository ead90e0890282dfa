/**
 * The decisions of coordinators where no manager runs: over a directory, or over the assumed writes of a dry run. They are those
 * of one moment: time does not pass, so no coordinator is asked again.
 */
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { referencesIn } from '../view/references.ts'
import type { ObjectName, ViewSource } from '../view/view.ts'
import { Coordination } from './coordination.ts'
import type { Coordinator } from './coordinator.ts'
import type { DecisionSource } from './decisions.ts'

interface DirectDecisionsOptions {
  readonly coordinators: readonly Coordinator[]
  readonly source: ViewSource
  /** The configuration of the operator. */
  readonly config: unknown
  readonly now: number
}

interface DirectDecisions extends DecisionSource {
  /** The object of this name is now so; undefined: there is none. */
  note(resource: Resource, name: ObjectName, object: KubeObject | undefined): void
  /** Decides about what was noted. Returns the keys whose decisions have changed. */
  decide(): ReadonlyMap<Coordinator, readonly string[]>
}

interface DirectCoordination {
  readonly coordination: Coordination
  /** References may lead to other objects after any change: then it starts from a fresh list. */
  readonly isReferring: boolean
  readonly kinds: ReadonlySet<string>
  isDirty: boolean
  /** Thrown by the author's code: there are no decisions. */
  error: { readonly cause: unknown } | undefined
}

export function directDecisions({ coordinators, source, config, now }: DirectDecisionsOptions): DirectDecisions {
  const references = referencesIn(source)
  const all = new Map<Coordinator, DirectCoordination>(
    coordinators.map((coordinator) => [
      coordinator,
      {
        coordination: new Coordination(coordinator, references),
        isReferring: coordinator.declaredInputs.some(({ select }) => select === 'reference'),
        kinds: new Set(coordinator.inputs.map(formatResource)),
        isDirty: false,
        error: undefined,
      },
    ]),
  )

  const attempt = (one: DirectCoordination, work: () => readonly string[]): readonly string[] => {
    try {
      return work()
    } catch (cause) {
      one.error = { cause }
      return []
    }
  }
  const decideAnew = ({ coordination }: DirectCoordination): readonly string[] => {
    coordination.start(config, source)
    return coordination.decide(now).changed
  }
  for (const one of all.values()) attempt(one, () => decideAnew(one))

  return {
    note(resource, name, object) {
      for (const one of all.values()) {
        if (one.error || !one.kinds.has(formatResource(resource))) continue
        if (one.isReferring) one.isDirty = true
        else attempt(one, () => (one.coordination.note(resource, name, object) && (one.isDirty = true), []))
      }
    },
    decide() {
      const changed = new Map<Coordinator, readonly string[]>()
      for (const [coordinator, one] of all) {
        if (one.error || !one.isDirty) continue
        one.isDirty = false
        const keys = attempt(one, () => (one.isReferring ? decideAnew(one) : one.coordination.decide(now).changed))
        if (keys.length > 0) changed.set(coordinator, keys)
      }
      return changed
    },
    decision<Decision>(coordinator: Coordinator<Decision>, key: string): Decision | undefined {
      const { coordination, error } = all.get(coordinator)!
      if (error) throw error.cause
      return coordination.decision(key) as Decision | undefined
    },
  }
}
