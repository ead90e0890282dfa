/**
 * The simulated database and its sidecar: they answer the operator in a simulation, where no container runs.
 *
 *     bin/muster simulate examples/database/operator.ts --sample examples/database/sample.yaml \
 *       --live examples/database/outside.ts --scenarios examples/database/scenarios.yaml
 *
 * A database exists while its Pod is ready, needs a moment to load, and ends on request. The sidecar implements its
 * protocol: a token, one word for the state, and actions that start once for each key.
 */
import type { KubeObject } from '@muster-dev/muster/kube'
import type { SimulatedWorld } from '@muster-dev/muster/simulate'
import { type HttpAnswer, type HttpCall, type Live, Pod, Secret, StatefulSet } from '@muster-dev/muster/operator'

interface Action {
  readonly key: string
  readonly name: string
  readonly input?: { readonly target?: string }
  readonly startedAt: number
  state: 'running' | 'succeeded' | 'lost'
}

/** One process of the database; a new Pod has a new one. */
interface Database {
  pod: string | undefined
  loadedAt: number
  isStopped: boolean
  /** Stored with the data: they survive the Pod. */
  readonly actions: Action[]
}

const loadMs = 2000
const actionMs: Readonly<Record<string, number>> = { backup: 3000, stop: 1000 }
const answerMs = 3

export function outside(state: { readonly running?: readonly string[] } | undefined, { clock, get }: SimulatedWorld) {
  const databases = new Map<string, Database>()
  const done: string[] = []
  for (const key of state?.running ?? [])
    databases.set(key, { pod: undefined, loadedAt: clock.now(), isStopped: false, actions: [] })

  /** The Pod that it runs in; without Pods (`--bare`) the StatefulSet. */
  const placeOf = (namespace: string, name: string): KubeObject | undefined => {
    const pod = get(Pod, { namespace, name: `${name}-0` })
    if (!pod) return get(StatefulSet, { namespace, name })
    return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ? pod : undefined
  }

  const isOpenedBy = (namespace: string, name: string, authorization: string | undefined): boolean => {
    const { volumes = [] } = get(StatefulSet, { namespace, name })?.spec?.template.spec ?? {}
    const secretName = volumes.find((volume) => volume.name === 'token')?.secret?.secretName
    const secret = get(Secret, { namespace, name: secretName ?? '' })
    const token = Buffer.from(secret?.data?.['token'] ?? '', 'base64').toString()
    return token !== '' && authorization === `Bearer ${token}`
  }

  /** Its current state; undefined if it is not reachable. */
  const find = (namespace: string, name: string): Database | undefined => {
    const pod = placeOf(namespace, name)?.metadata.uid
    const key = `${namespace}/${name}`
    const known = databases.get(key)
    if (known) settle(known, pod)
    if (pod === undefined) return undefined
    if (known?.pod === pod) return known
    const isRestored = known !== undefined && known.pod === undefined
    const database: Database = isRestored
      ? Object.assign(known, { pod })
      : { pod, loadedAt: clock.now() + loadMs, isStopped: false, actions: known?.actions ?? [] }
    databases.set(key, database)
    return database
  }

  /** Completes the actions whose time is up. */
  const settle = (database: Database, pod: string | undefined): void => {
    for (const action of database.actions.filter((one) => one.state === 'running')) {
      const isLost = database.pod !== undefined && database.pod !== pod
      if (isLost) action.state = 'lost'
      if (isLost || clock.now() < action.startedAt + (actionMs[action.name] ?? 0)) continue
      action.state = 'succeeded'
      if (action.name === 'stop') database.isStopped = true
      done.push(action.name === 'backup' ? `backup to ${action.input?.target ?? ''}` : action.name)
    }
  }

  const wordOf = ({ actions, isStopped, loadedAt }: Database): string => {
    const isUnderWay = (name: string): boolean => actions.some((one) => one.name === name && one.state === 'running')
    if (isUnderWay('stop')) return 'stopping'
    if (isStopped) return 'ended'
    if (clock.now() < loadedAt) return 'start'
    return isUnderWay('backup') ? 'servicing' : 'running'
  }

  const record = ({ key, name, state: now, startedAt }: Action) => {
    const at = new Date(startedAt).toISOString()
    return { key, name, state: now, startedAt: at, updatedAt: at }
  }

  const ask = (database: Database, { method = 'GET', body }: HttpCall, path: string): HttpAnswer => {
    if (path === '/v1/state') {
      return answer(200, { state: wordOf(database), since: new Date(database.loadedAt).toISOString(), reachable: true })
    }
    if (method === 'POST' && path === '/v1/actions') {
      const { key, name, input } = JSON.parse(String(body)) as Omit<Action, 'startedAt' | 'state'>
      const known = database.actions.find((one) => one.key === key)
      if (known) return answer(200, record(known))
      if (database.actions.some((one) => one.state === 'running')) {
        return answer(429, { error: 'Busy', message: 'one action at a time' })
      }
      const action: Action = { key, name, startedAt: clock.now(), state: 'running', ...(input && { input }) }
      database.actions.push(action)
      return answer(202, record(action))
    }
    if (path === '/v1/actions') return answer(200, { actions: database.actions.map(record) })
    const action = database.actions.find(({ key }) => path === `/v1/actions/${encodeURIComponent(key)}`)
    return action ? answer(200, record(action)) : answer(404, { error: 'NotFound', message: 'no such action' })
  }

  const live: Live = {
    available: true,
    exec: () => Promise.reject(new Error('no command can run here')),
    async http(call) {
      await clock.sleep(answerMs)
      const { hostname, pathname } = new URL(call.url)
      const [, name = '', namespace = ''] = hostname.split('.')
      const database = find(namespace, name)
      if (!database) throw new Error('connect ECONNREFUSED')
      await clock.sleep(answerMs)
      if (!isOpenedBy(namespace, name, call.headers?.['authorization'])) return answer(401, { error: 'Unauthorized' })
      return ask(database, call, pathname)
    },
  }

  const isRunning = (key: string): boolean => {
    const [namespace = '', name = ''] = key.split('/')
    const database = find(namespace, name)
    return database !== undefined && !database.isStopped
  }
  return {
    live,
    state: () => ({ running: [...databases.keys()].filter(isRunning).toSorted() }),
    done: () => ({ actions: done }),
  }
}

function answer(status: number, body: unknown): HttpAnswer {
  const headers = { 'content-type': 'application/json' }
  return { status, headers, body: JSON.stringify(body), json: () => body }
}
