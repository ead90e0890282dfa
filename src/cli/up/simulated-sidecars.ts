/**
 * Simulated sidecars for `muster up`. The Pods of an embedded cluster are simulated and answer no calls; this simulates the
 * sidecar in the Pods of `examples/database` while the Pod exists: it reports the state of its database, and takes a few seconds
 * for a backup or to stop.
 */
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { Pod } from '../../kube/types/core/v1.ts'
import type { HttpAnswer, HttpCall, Live } from '../../operator/live.ts'

interface Action {
  readonly key: string
  readonly name: string
  readonly startedAt: number
}

/** The duration of actions. */
const takesMs = 4000

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }

export function simulatedSidecars(client: Client, clock: Clock): Live {
  /** By Pod uid: a new Pod starts from scratch. */
  const lives = new Map<string, Action[]>()

  const stateOf = (action: Action): string => (clock.now() - action.startedAt < takesMs ? 'running' : 'succeeded')
  const recordOf = (action: Action): object => {
    const [startedAt, endedAt] = [formatTime(action.startedAt), formatTime(action.startedAt + takesMs)]
    const state = stateOf(action)
    const { key, name } = action
    return { key, name, state, startedAt, updatedAt: state === 'running' ? startedAt : endedAt }
  }

  const lifeOf = (pod: Pod, actions: readonly Action[]): string => {
    const last = actions.at(-1)
    if (last?.name === 'stop') return stateOf(last) === 'running' ? 'stopping' : 'ended'
    if (last && stateOf(last) === 'running') return 'servicing'
    const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    return isReady ? 'running' : 'start'
  }

  const answer = ({ method = 'GET', body }: HttpCall, path: string, pod: Pod): HttpAnswer => {
    const uid = pod.metadata?.uid ?? ''
    const actions = lives.get(uid) ?? []
    lives.set(uid, actions)
    if (path === '/v1/state') {
      const since = pod.metadata?.creationTimestamp ?? formatTime(clock.now())
      return reply(200, { state: lifeOf(pod, actions), since, reachable: true })
    }
    if (path === '/v1/actions' && method === 'POST') {
      const { key, name } = (typeof body === 'string' ? JSON.parse(body) : body) as Action
      const known = actions.find((action) => action.key === key)
      if (known) return reply(200, recordOf(known))
      const started = { key, name, startedAt: clock.now() }
      actions.push(started)
      return reply(202, recordOf(started))
    }
    if (path === '/v1/actions') return reply(200, { actions: actions.map(recordOf) })
    const wanted = actions.find(({ key }) => path === `/v1/actions/${encodeURIComponent(key)}`)
    return wanted ? reply(200, recordOf(wanted)) : reply(404, { error: 'NotFound', message: 'no such action' })
  }

  return {
    available: true,
    exec: (pod) =>
      Promise.reject(
        new MusterError(clientErrors.ExecFailed, `Pod ${pod.name} is simulated: no command can be run in it.`),
      ),
    async http(call) {
      const { hostname, pathname, origin } = new URL(call.url)
      const [name = '', , namespace] = hostname.split('.')
      try {
        return answer(
          call,
          pathname,
          await client.get<Pod & { apiVersion: string; kind: string }>(pods, { name, namespace }),
        )
      } catch (error) {
        if (!isMusterError(error, clientErrors.NotFound)) throw error
        throw new MusterError(clientErrors.Unreachable, `${call.method ?? 'GET'} ${origin}: there is no such Pod.`)
      }
    },
  }
}

function reply(status: number, body: object): HttpAnswer {
  const text = JSON.stringify(body)
  return { status, headers: { 'content-type': 'application/json' }, body: text, json: () => body }
}
