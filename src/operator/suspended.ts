/**
 * Suspension: a reconcile that cannot go on yet, for lack of something that is being worked out, ends early. That is no failure:
 * nothing is written, no status, no back-off; the CR is enqueued when what it waits for is there.
 */

/** Ends a reconcile that waits for a task or a coordinator. Author code lets it pass. */
export class Suspended extends Error {
  /** `waitsFor`: what is missing, for people. */
  constructor(waitsFor: string) {
    super(waitsFor)
    this.name = 'Suspended'
  }
}
