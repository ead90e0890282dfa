/** Requests as RBAC sees them, and which grants of roles they use. */
import type { Client } from '../../src/client/client.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import type { PolicyRule } from '../../src/kube/types/rbac/v1.ts'
import { createHeartbeatTable } from '../../src/manager/threads/heartbeat-table.ts'
import { createThreadWatch } from '../../src/manager/threads/thread-watch.ts'
import { addEntries, entryKey, type QuarantineEntry } from '../../src/manager/watchdog/quarantine-record.ts'
import { createQuarantine } from '../../src/manager/watchdog/quarantine.ts'
import type { Watchdog } from '../../src/manager/watchdog/watchdog.ts'
import type { Transport } from '../../src/transport/transport.ts'

export interface Asked {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly isRefused: boolean
}

/** As RBAC sees a request; undefined for what is no resource. */
function askedBy(method: string, target: string, status: number): Omit<Asked, 'isRefused'> | undefined {
  const [where = '', query] = target.split('?')
  const isWatch = new URLSearchParams(query).get('watch') === 'true'
  const [, root, ...rest] = where.split('/')
  const group = root === 'apis' ? (rest.shift() ?? '') : ''
  rest.shift()
  const isIn = rest[0] === 'namespaces' && rest.length > 2
  const [space = '', plural, called = '', below] = isIn ? rest.slice(1) : ['', ...rest]
  if (plural === undefined || (root !== 'api' && root !== 'apis')) return undefined
  const fields = new URLSearchParams(query).get('fieldSelector') ?? ''
  const [, selected = ''] = /^metadata\.name=([^,]+)$/.exec(fields) ?? []
  const reading = isWatch ? 'watch' : called === '' ? 'list' : 'get'
  const patching = status === 201 ? 'create' : 'patch'
  const verbs: Readonly<Record<string, string>> = { GET: reading, POST: 'create', PUT: 'update', PATCH: patching }
  const resource = below === undefined ? plural : `${plural}/${below}`
  return { verb: verbs[method] ?? 'delete', group, resource, namespace: space, name: called || selected }
}

/** Notes each request in `asked`. */
export function recording(transport: Transport, asked: Asked[], isOld: boolean): Transport {
  return {
    ...transport,
    async send(sent) {
      // Of a server that cannot begin a watch with a list, lists are asked for.
      const request = isOld ? { ...sent, path: sent.path.replace('sendInitialEvents=true', '') } : sent
      const response = await transport.send(request)
      const what = askedBy(request.method, request.path, response.status)
      const isRefused = response.status === 401 || response.status === 403
      if (what) asked.push({ ...what, isRefused })
      // An apply that creates is a patch, too.
      if (what?.verb === 'create' && request.method === 'PATCH') asked.push({ ...what, verb: 'patch', isRefused })
      const as = Object.entries(request.headers ?? {}).find(([key]) => key.toLowerCase() === 'impersonate-user')?.[1]
      if (typeof as === 'string') {
        const [, , space = '', account = ''] = as.split(':')
        const verb = 'impersonate'
        asked.push({ verb, group: '', resource: 'serviceaccounts', namespace: space, name: account, isRefused })
      }
      return response
    },
  }
}

/** The grants of roles, one by one: `verb resource.group namespace/name`. */
export function grantsOf(objects: readonly KubeObject[]): readonly string[] {
  return objects
    .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
    .flatMap((role) =>
      (role as KubeObject & { readonly rules: readonly PolicyRule[] }).rules.flatMap(
        ({ apiGroups = [], resources = [], resourceNames = ['*'], verbs }) =>
          resources.flatMap((resource) =>
            verbs.flatMap((verb) =>
              resourceNames.map((one) => `${verb} ${resource}.${apiGroups[0]} ${role.metadata.namespace ?? ''}/${one}`),
            ),
          ),
      ),
    )
}

/** The grants that requests use: by the name of their object or all names, in its namespace or everywhere. */
export function usedBy(asked: readonly Asked[]): ReadonlySet<string> {
  return new Set(
    asked.flatMap(({ verb, group, resource, namespace: space, name: one }) =>
      [one, '*'].flatMap((called) => [space, ''].map((where) => `${verb} ${resource}.${group} ${where}/${called}`)),
    ),
  )
}

/** In the thread of the tests there is no watchdog: what it does with the cluster is done here. */
export const silent: Watchdog = {
  heartbeats: createHeartbeatTable(),
  thread: createThreadWatch({ clock: systemClock, onHeld: () => undefined }),
  limit: () => undefined,
  tell: () => undefined,
  close: () => Promise.resolve(),
}

/** What a watchdog does with the cluster: it records quarantined operators, and announces them. */
export async function tellQuarantine(
  client: Client,
  quarantine: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const entry: QuarantineEntry = {
    operator: 'mad',
    controller: 'mad',
    key: 'a/b',
    step: 'CRChecker',
    heldSeconds: 10,
    at: '2026-01-01T00:00:00Z',
    replica: 'one',
    line: '',
    or: [],
  }
  for (const version of ['1', '2']) {
    await addEntries(client, quarantine, new Map([[entryKey('mad', version), entry]]), { timeoutMs: 10_000 })
  }
  const { or: _, at, ...rest } = entry
  const configMap = `${quarantine.namespace}/${quarantine.name}`
  const finding = { ...rest, kind: 'quarantined', since: at, record: configMap, at: 0 } as const
  for (let restart = 0; restart < 2; restart++) {
    const one = createQuarantine({
      client,
      clock: systemClock,
      configMap,
      moduleOf: () => Promise.resolve(undefined),
      isChosen: () => false,
      tell: () => undefined,
      log: () => undefined,
    })
    await one.read({}, AbortSignal.timeout(10_000))
    await one.announce(finding)
    await one.announce(finding)
  }
}
