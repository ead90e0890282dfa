/**
 * Conclusions of interrupted reconciles: the guest ended, blocked or broke the rules, or is being restarted. The first
 * is a failure like any other: in the ledger, on the CR, with back-off. The second is no failure and is only requeued.
 */
import type { KubeObject } from '../../kube/object.ts'
import { countFailure, failureOf, reconcileRetryDelay } from '../../operator/failure.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { Conclusion, Situation } from '../../operator/reconcile.ts'
import { statusWrite } from '../../operator/status.ts'
import type { Execute } from '../run/executor.ts'
import { guestIdentityOf } from './protocol/wire.ts'
import type { IsolationLevel } from './runner.ts'

interface Interruption {
  readonly situation: Situation<KubeObject>
  readonly level: IsolationLevel
  readonly startedAt: number
}

/** Sets the failure on the CR as well, so that users see why nothing happens. */
export async function interrupted(
  { situation, level, startedAt }: Interruption,
  error: unknown,
  execute: Execute,
): Promise<Conclusion> {
  const { controller, cr, memory } = situation
  const failure = failureOf(error, level, 'cr')
  const failures = countFailure(memory.failures, failure)
  const requeueAfterMs = reconcileRetryDelay(failure, failures, controller.backOff)
  const ledger: Ledger = {
    ...blank(situation, startedAt),
    path: [level],
    entries: [{ step: level, subject: 'cr', operation: 'failed', message: failure.message }],
    failure,
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  }
  const { kind, reports, options } = controller
  const isForeign = options.foreign === true
  const settled = memory.settled.get('status')
  const status = statusWrite({ kind, cr, isForeign, report: undefined, reports, life: undefined, ledger, settled })
  // A failed status write is ignored: the next attempt writes it again.
  if (status) await execute([status.write]).catch(() => undefined)
  return { ledger, memory: { ...memory, failures } }
}

/** Nothing was done, and nothing is reported. */
export function postponed({ situation, startedAt }: Interruption, afterMs: number): Conclusion {
  const waiting = `${situation.operator} is being started again`
  return {
    ledger: { ...blank(situation, startedAt), waiting, requeueAfterMs: afterMs },
    memory: situation.memory,
  }
}

function blank(situation: Situation<KubeObject>, startedAt: number): Ledger {
  const isFinalizing = situation.cr.metadata.deletionTimestamp !== undefined
  return { ...guestIdentityOf(situation), path: [], entries: [], health: new Map(), isFinalizing, startedAt }
}
