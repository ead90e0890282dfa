/** How a reconcile reads the decisions of coordinators. */
import { Suspended } from '../suspended.ts'
import type { Coordinator } from './coordinator.ts'

/** For author code. */
export interface Decisions {
  /**
   * The decision for this key now, frozen; undefined: there is none. The CR is enqueued when it changes. An undefined key, as the
   * type of `metadata.uid` allows it, has no decision.
   * @throws Suspended while the coordinator cannot decide: its inputs are not loaded, or it has failed
   */
  decision<Decision>(this: void, coordinator: Coordinator<Decision>, key: string | undefined): Decision | undefined
}

/** Where decisions come from: a manager, a directory, a dry run. */
export interface DecisionSource {
  /** @throws Suspended */
  decision<Decision>(this: void, coordinator: Coordinator<Decision>, key: string): Decision | undefined
}

/** The suspension of a reconcile that waits for a coordinator. */
export function suspendedUntilDecided({ name }: Pick<Coordinator, 'name'>): Suspended {
  return new Suspended(`the decisions of coordinator ${name}`)
}

/** Where no coordinator runs: a reconcile on its own. */
export const noDecisions: DecisionSource = {
  decision(coordinator) {
    throw suspendedUntilDecided(coordinator)
  },
}
