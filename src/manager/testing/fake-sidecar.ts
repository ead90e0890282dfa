/**
 * A fake sidecar for tests of operators with a life cycle: it answers the requests that an operator sends to the sidecar of its
 * application, and the test decides what the application does. It takes the place of `live` in a test environment; a file
 * that exports `live = () => fakeSidecar(…)` is what `muster simulate --live` and `muster scorecard --live` take.
 */
import type { Json } from '../../kube/json.ts'
import type { HttpAnswer, HttpCall, Live } from '../../operator/live.ts'

export interface FakeSidecarOptions {
  /** What requests must present. @default any token */
  readonly token?: string
  /** The first state that it reports. */
  readonly state: string
  /**
   * Called when an action starts: an application that acts by itself, for the simulator and the scorecard, where no test
   * decides. @default none
   */
  readonly onAction?: (action: FakeAction, sidecar: FakeSidecar) => void
}

/** An action that the operator started. */
export interface FakeAction {
  readonly key: string
  readonly name: string
  readonly input: Json
  readonly state: 'running' | 'succeeded' | 'failed' | 'lost'
  readonly message?: string
}

export interface FakeSidecar extends Live {
  /** What the application reports. */
  state: string
  /** Whether it answers. */
  isReachable: boolean
  /** The oldest first. */
  readonly actions: readonly FakeAction[]
  /** Ends the running action: `finish('failed', 'disk full')`. @throws when none is running */
  finish(state?: Exclude<FakeAction['state'], 'running'>, message?: string): void
}

export function fakeSidecar({ token, state, onAction }: FakeSidecarOptions): FakeSidecar {
  const actions: FakeAction[] = []
  const sidecar: FakeSidecar = {
    available: true,
    state,
    isReachable: true,
    actions,
    finish(end = 'succeeded', message) {
      const at = actions.findIndex((action) => action.state === 'running')
      const running = actions[at]
      if (!running) throw new Error('no action is running')
      actions[at] = { ...running, state: end, ...(message !== undefined && { message }) }
    },
    exec: () => Promise.reject(new Error('a fake sidecar runs no commands')),
    http(call) {
      if (!sidecar.isReachable) return Promise.reject(new Error('connect ECONNREFUSED'))
      const before = actions.length
      const response = respond(sidecar.state, actions, token, call)
      const started = actions[before]
      if (started) onAction?.(started, sidecar)
      return Promise.resolve(response)
    },
  }
  return sidecar
}

/** Operators compare times only for equality: one is enough. */
const at = '2026-01-01T00:00:00Z'

function respond(state: string, actions: FakeAction[], token: string | undefined, call: HttpCall): HttpAnswer {
  const { method = 'GET', url, headers, body } = call
  if (token !== undefined && headers?.['authorization'] !== `Bearer ${token}`) {
    return answer(401, { error: 'Unauthorized', message: 'wrong token' })
  }
  const path = new URL(url).pathname
  if (path === '/v1/state') return answer(200, { state, since: at, reachable: true })
  if (path === '/v1/actions' && method === 'GET') return answer(200, { actions: actions.map(record) })
  if (path === '/v1/actions') {
    const asked = (typeof body === 'string' ? JSON.parse(body) : body) as Omit<FakeAction, 'input'> & {
      readonly input?: Json
    }
    const { key, name, input = null } = asked
    const known = actions.find((action) => action.key === key)
    if (known) return answer(200, record(known))
    if (actions.some((action) => action.state === 'running')) return answer(429, { error: 'Busy', message: 'busy' })
    const started: FakeAction = { key, name, input, state: 'running' }
    actions.push(started)
    return answer(202, record(started))
  }
  const index = actions.findIndex(({ key }) => path.startsWith(`/v1/actions/${encodeURIComponent(key)}`))
  const found = actions[index]
  if (!found) return answer(404, { error: 'NotFound', message: 'no such action' })
  if (method === 'GET' || found.state !== 'running') return answer(200, record(found))
  actions[index] = { ...found, state: 'failed', message: 'cancelled' }
  return answer(202, record(actions[index]))
}

function record(action: FakeAction): object {
  return { ...action, startedAt: at, updatedAt: at }
}

function answer(status: number, body: object): HttpAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), json: () => body }
}
