/**
 * A coordinator at work: its state, the objects that it has taken in, and the decisions in force. Pure: the caller says what
 * objects are now, and what time it is.
 *
 * Callers report objects, not events. An object is compared with what was taken before, so a report too many changes nothing,
 * `before` is always what the coordinator knows, and an object that two inputs select is taken once.
 */
import { freezeDeep } from '../../cache/decode/intern.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject } from '../../kube/object.ts'
import { operatorErrors } from '../errors.ts'
import { type Coverage, coverageOf } from '../view/coverage.ts'
import type { References } from '../view/references.ts'
import type { ObjectName, ViewSource } from '../view/view.ts'
import type { Coordinator } from './coordinator.ts'

interface CoordinationOutcome {
  /** The keys whose decisions have changed. */
  readonly changed: readonly string[]
  /** When to ask again. */
  readonly again: number | undefined
}

/** The objects of one kind as they were taken, by `namespace/name`. */
interface TakenKind {
  readonly resource: Resource
  readonly objects: Map<string, KubeObject>
}

/** Decisions of one batch: more are taken for an endless loop of author code. */
const mostDecisions = 1_000_000

export class Coordination {
  readonly coordinator: Coordinator
  readonly #coverage: Coverage
  readonly #references: References
  #state: unknown
  #isFresh = true
  #taken: ReadonlyMap<string, TakenKind> = new Map()
  readonly #decisions = new Map<string, unknown>()

  constructor(coordinator: Coordinator, references: References) {
    this.coordinator = coordinator
    this.#coverage = coverageOf(coordinator.declaredInputs)
    this.#references = references
  }

  /** Starts the state anew, from a fresh list. The decisions in force stay until the next batch is decided. */
  start(config: unknown, source: Pick<ViewSource, 'list'>): void {
    const { inputs } = this.coordinator
    this.#isFresh = true
    this.#taken = new Map(
      inputs.map((resource) => [formatResource(resource), { resource, objects: new Map<string, KubeObject>() }]),
    )
    this.#state = this.coordinator.start({ config })
    for (const kind of this.#taken.values()) {
      for (const object of source.list(kind.resource)) {
        const { name = '', namespace } = object.metadata
        this.#take(kind, keyOf({ name, namespace }), this.#shown(kind.resource, object))
      }
    }
  }

  /** The object of this name is now so; undefined: there is none. Returns whether that was news. */
  note(resource: Resource, name: ObjectName, live: KubeObject | undefined): boolean {
    const kind = this.#taken.get(formatResource(resource))
    return kind !== undefined && this.#take(kind, keyOf(name), live && this.#shown(resource, live))
  }

  /** The kind is no longer served. */
  noteGone(resource: Resource): boolean {
    const kind = this.#taken.get(formatResource(resource))
    if (!kind || kind.objects.size === 0) return false
    for (const key of kind.objects.keys()) this.#take(kind, key, undefined)
    return true
  }

  /** @throws InvalidCoordinator, and whatever the author's code throws: then the state must be started anew */
  decide(now: number): CoordinationOutcome {
    const { decisions, again } = this.coordinator.decide(this.#state, now)
    const batch = new Map<string, unknown>()
    let count = 0
    for (const [key, decision] of decisions) {
      if (++count > mostDecisions) this.#refuse('there is no end to its decisions')
      if (typeof key !== 'string') this.#refuse(`the key ${String(key)} is no string`)
      batch.set(key, decision)
    }
    if (again !== undefined && (typeof again !== 'number' || Number.isNaN(again))) {
      this.#refuse(`"again" is ${String(again)}; it must be a time, in milliseconds`)
    }
    // A fresh state says all of its decisions: others are no longer in force.
    if (this.#isFresh) for (const key of this.#decisions.keys()) if (!batch.has(key)) batch.set(key, undefined)
    this.#isFresh = false
    const changed: string[] = []
    for (const [key, decision] of batch) if (this.#set(key, decision)) changed.push(key)
    return { changed, again: again === Infinity ? undefined : again }
  }

  decision(key: string): unknown {
    return this.#decisions.get(key)
  }

  /** Whether nothing was decided since the state was started. */
  get isFresh(): boolean {
    return this.#isFresh
  }

  get decisions(): ReadonlyMap<string, unknown> {
    return this.#decisions
  }

  /** Whether it differs from the decision before. */
  #set(key: string, decision: unknown): boolean {
    if (equalJson(decision as Json | undefined, this.#decisions.get(key) as Json | undefined)) return false
    if (decision === undefined) this.#decisions.delete(key)
    else this.#decisions.set(key, freezeDeep(decision as Json))
    return true
  }

  #take({ resource, objects }: TakenKind, key: string, object: KubeObject | undefined): boolean {
    const before = objects.get(key)
    if (before === object) return false
    if (before && object && !this.#coverage.isProjected(resource) && isSameVersion(before, object)) return false
    if (object) objects.set(key, object)
    else objects.delete(key)
    const { coordinator } = this
    if (before && object && before.metadata.uid !== object.metadata.uid) {
      coordinator.take(this.#state, { resource, object: undefined, before })
      coordinator.take(this.#state, { resource, object, before: undefined })
    } else coordinator.take(this.#state, { resource, object, before })
    return true
  }

  /** The declared part of an object; undefined if the inputs do not select it. */
  #shown(resource: Resource, object: KubeObject): KubeObject | undefined {
    if (!this.#coverage.shows(resource, object, this.#references)) return undefined
    if (!this.#coverage.isProjected(resource)) return object
    return this.#coverage.projectionOf(resource, object, this.#references).project(object)
  }

  #refuse(problem: string): never {
    throw new MusterError(
      operatorErrors.InvalidCoordinator,
      `Coordinator ${this.coordinator.name}, in decide(): ${problem}.`,
    )
  }
}

/** Of an object with a part of its fields, one version may have more of them than before. */
function isSameVersion({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  return a.resourceVersion !== undefined && a.resourceVersion === b.resourceVersion && a.uid === b.uid
}

function keyOf({ namespace = '', name }: ObjectName): string {
  return `${namespace}/${name}`
}
