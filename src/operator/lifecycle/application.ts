/**
 * The application as one more dependent of a controller: observed, compared with the desired state, and acted on
 * through its sidecar, or without one by functions of the author. On the way to its first state the controller's objects
 * are created, in its end state they are deleted; in between, actions change its state.
 */
import type { Clock } from '../../clock/clock.ts'
import { type Random, seededRandom } from '../../clock/random.ts'
import { sidecarErrors } from '../../sidecar/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { operatorErrors } from '../errors.ts'
import type { KubeObject, Named } from '../../kube/object.ts'
import { sidecarClient, type SidecarClient, type SidecarTransport } from '../../sidecar/client.ts'
import type { Live } from '../live.ts'
import type { ConfigSource, NeedsConfig } from '../config.ts'
import type { Context } from '../dependent/dependent.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ActionReport, LifecycleAct, Observed } from './observation.ts'
import { actionKeys, type LifecycleStep, stepLifecycle } from './step.ts'
import type { LifecycleStatus } from './status.ts'

/** How to reach the sidecar; `gone` when no Pod is left that could answer, `absent` when none answers yet. */
export type Reach = { readonly url: string; readonly token: string } | 'gone' | 'absent'

export interface ApplicationOptions<CR extends KubeObject, Config = unknown> {
  readonly for: TypedResource<CR>
  readonly lifecycle: Lifecycle & NeedsConfig<Config>
  /** The configuration of the operator, if `reach` reads it: it types its `config`. */
  readonly config?: ConfigSource<Config>
  /** With a sidecar: its address and token, from the view (the Pod or Service, a Secret). */
  reach?(context: Context<CR, Config>): Reach
  /** Without a sidecar: the state of the application and of its actions, from the view or by a call. */
  observe?(context: ApplicationContext<CR, Config>): Observed | Promise<Observed>
  /**
   * Without a sidecar: starts or cancels an action. It may be called again with the same key. @default none: a dependent
   * carries actions out, such as a Job that exists during the transition
   */
  act?(act: LifecycleAct, context: ApplicationContext<CR, Config>): void | Promise<void>
  /** The polling interval of an application at rest. @default 30_000 */
  readonly observeEveryMs?: number
  /** The time-out of one request to the sidecar. @default 5000 */
  readonly timeoutMs?: number
}

/** The context of `observe` and `act`. */
export interface ApplicationContext<CR extends KubeObject, Config = unknown> extends Context<CR, Config> {
  readonly live: Live
}

export interface Application<CR extends KubeObject> {
  readonly lifecycle: Lifecycle
  /** The configuration that `reach` reads. */
  readonly config: ConfigSource<unknown> | undefined
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
export interface ApplicationAccess<CR extends KubeObject> extends ApplicationContext<CR> {
  readonly clock: Clock
}

/** @throws InvalidLifecycle when it is not clear how the application is observed */
export function defineApplication<CR extends KubeObject, Config = unknown>(
  options: ApplicationOptions<CR, Config>,
): Application<CR> & NeedsConfig<Config> {
  const { lifecycle, observeEveryMs = 30_000, timeoutMs = 5000 } = options
  if ((options.reach === undefined) === (options.observe === undefined)) {
    throw new MusterError(
      operatorErrors.InvalidLifecycle,
      `The application ${lifecycle.name} needs either reach (a sidecar) or observe (none).`,
    )
  }

  const clientOf = (context: ApplicationAccess<CR>): SidecarClient | Exclude<Reach, object> => {
    // The operator has this configuration: the cast restores its type.
    const reach = options.reach?.(context as Context<CR, Config>) ?? 'absent'
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
    config: options.config,
    observeEveryMs,
    isPresent(cr) {
      const status = statusOf(cr)
      return status ? status.state !== lifecycle.end : desiredStateOf(cr, lifecycle) !== lifecycle.end
    },
    async observe(context) {
      if (options.observe) return await options.observe(context as ApplicationContext<CR, Config>)
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
        if (isMusterError(error, sidecarErrors.SidecarUnreachable)) return { reachable: false, actions: [] }
        throw error
      }
    },
    step(context, observed, isEnding) {
      const { cr, now, view, config } = context
      const step = stepLifecycle(lifecycle, {
        desired: isEnding ? lifecycle.end : desiredStateOf(cr, lifecycle),
        request: specOf(cr).stateRequest,
        status: statusOf(cr),
        observed,
        now,
        context: { cr: cr as Named<CR> & { readonly spec: object }, view, config },
      })
      // A dependent carries the action out: there is nothing to ask for.
      const { act: _, ...rest } = step
      return options.observe && !options.act ? rest : step
    },
    async perform(act, context) {
      if (options.act) return await options.act(act, context as ApplicationContext<CR, Config>)
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

function desiredStateOf(cr: KubeObject, { defaultState }: Lifecycle): string {
  return specOf(cr).state ?? defaultState
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
