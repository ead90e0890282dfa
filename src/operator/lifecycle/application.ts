/**
 * The application as one more dependent of a controller: observed, compared with the desired state, and acted on
 * through its sidecar. On the way to its first state the controller's objects are created, in its end state they are
 * deleted; in between, actions change its state.
 */
import type { Clock } from '../../clock/clock.ts'
import { type Random, seededRandom } from '../../clock/random.ts'
import { isMusterError } from '../../kube/errors.ts'
import type { KubeObject } from '../../kube/object.ts'
import { sidecarClient, type SidecarClient, type SidecarTransport } from '../../sidecar/client.ts'
import type { Live } from '../live.ts'
import type { Context } from '../dependent.ts'
import type { TypedResource } from '../typed-resource.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ActionReport, LifecycleAct, Observed } from './observation.ts'
import { actionKeys, type LifecycleStep, stepLifecycle } from './step.ts'
import type { LifecycleStatus } from './status.ts'

/** How to reach the sidecar; `gone` when no Pod is left that could answer, `absent` when none answers yet. */
export type Reach = { readonly url: string; readonly token: string } | 'gone' | 'absent'

export interface ApplicationOptions<CR extends KubeObject> {
  readonly for: TypedResource<CR>
  readonly lifecycle: Lifecycle
  /** From the view: the address of the Pod or Service, the token in a Secret. */
  reach(context: Context<CR>): Reach
  /** The polling interval of an application at rest. @default 30_000 */
  readonly observeEveryMs?: number
  /** The time-out of one request to the sidecar. @default 5000 */
  readonly timeoutMs?: number
}

export interface Application<CR extends KubeObject> {
  readonly lifecycle: Lifecycle
  readonly observeEveryMs: number
  /** Whether its objects are desired. False in the end state: `activeWhen: ({ cr }) => application.isPresent(cr)`. */
  isPresent(cr: CR): boolean
  /** A sidecar that does not answer is a result: not reachable. */
  observe(context: ApplicationAccess<CR>): Promise<Observed>
  step(context: Context<CR>, observed: Observed, isEnding: boolean): LifecycleStep
  /** @throws the sidecar's error */
  perform(act: LifecycleAct, context: ApplicationAccess<CR>): Promise<void>
}

/** The context of a request to the sidecar. */
export interface ApplicationAccess<CR extends KubeObject> extends Context<CR> {
  readonly live: Live
  readonly clock: Clock
}

export function defineApplication<CR extends KubeObject>(options: ApplicationOptions<CR>): Application<CR> {
  const { lifecycle, observeEveryMs = 30_000, timeoutMs = 5000 } = options

  const clientOf = (context: ApplicationAccess<CR>): SidecarClient | Exclude<Reach, object> => {
    const reach = options.reach(context)
    if (typeof reach === 'string') return reach
    const { live, clock } = context
    return sidecarClient({
      ...reach,
      clock,
      random: spread(context),
      timeoutMs,
      transport: transportOf(live, timeoutMs),
    })
  }

  return {
    lifecycle,
    observeEveryMs,
    isPresent(cr) {
      const status = statusOf(cr)
      return status ? status.state !== lifecycle.end : wishOf(cr, lifecycle) !== lifecycle.end
    },
    async observe(context) {
      const sidecar = clientOf(context)
      if (sidecar === 'gone') return { reachable: false, state: lifecycle.end, actions: [] }
      if (sidecar === 'absent' || !context.live.available) return { reachable: false, actions: [] }
      try {
        const { state } = await sidecar.state()
        const wanted = new Set(actionKeys(statusOf(context.cr)))
        // All actions: a key must not be reused.
        const actions = await sidecar.actions()
        const reports = actions.map(({ key, state: now, progress, message }): ActionReport => ({
          key,
          state: now,
          progress,
          message,
        }))
        for (const key of wanted) {
          if (reports.some((report) => report.key === key)) continue
          const record = await sidecar.action(key)
          if (record) reports.push({ key, state: record.state, progress: record.progress, message: record.message })
        }
        return { reachable: true, state, actions: reports }
      } catch (error) {
        if (isMusterError(error, 'SidecarUnreachable')) return { reachable: false, actions: [] }
        throw error
      }
    },
    step(context, observed, isEnding) {
      const { cr, now, view } = context
      return stepLifecycle(lifecycle, {
        wish: isEnding ? lifecycle.end : wishOf(cr, lifecycle),
        request: specOf(cr).stateRequest,
        status: statusOf(cr),
        observed,
        now,
        context: { cr: cr as CR & { readonly spec: object }, view },
      })
    },
    async perform(act, context) {
      const sidecar = clientOf(context)
      if (typeof sidecar === 'string') return
      if (act.verb === 'cancel') await sidecar.cancel(act.key)
      else await sidecar.start({ key: act.key, name: act.action, input: act.input })
    },
  }
}

interface LifecycleSpec {
  readonly state?: string
  readonly stateRequest?: string
}

function specOf(cr: KubeObject): LifecycleSpec {
  return (cr as { readonly spec?: LifecycleSpec }).spec ?? {}
}

function wishOf(cr: KubeObject, { defaultWish }: Lifecycle): string {
  return specOf(cr).state ?? defaultWish
}

/** `status.lifecycle`, as it is stored. */
export function statusOf(cr: KubeObject): LifecycleStatus | undefined {
  return (cr as { readonly status?: { readonly lifecycle?: LifecycleStatus } }).status?.lifecycle
}

/** Jitter derived from the run's time: the same request waits the same time. */
function spread({ now }: { readonly now: number }): Random {
  return seededRandom(now)
}

/** No retries here: the sidecar client retries idempotent requests itself. */
function transportOf(live: Live, timeoutMs: number): SidecarTransport {
  return async ({ method, url, headers, body }) => {
    const answer = await live.http({ method, url, headers, timeoutMs, retries: 0, ...(body !== undefined && { body }) })
    return { status: answer.status, headers: answer.headers, body: answer.body }
  }
}
