/** Pod Security Standards: what the labels of a namespace keep out of it, and what they warn of. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { tryCreate } from './outcome.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const secure = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}
const container = (securityContext: object = {}, more: object = {}): object => ({
  name: 'c',
  image: 'i',
  securityContext,
  ...more,
})

/** A namespace with these standards. */
async function secured(labels: Readonly<Record<string, string>>): Promise<string> {
  const name = server.unique('namespace')
  const own = Object.fromEntries(
    Object.entries(labels).map(([mode, level]) => [`pod-security.kubernetes.io/${mode}`, level]),
  )
  await server.must('POST', '/api/v1/namespaces', { body: { metadata: { name, labels: own } } })
  server.cleanUp(`/api/v1/namespaces/${name}`)
  return name
}

async function told(namespace: string, spec: object): Promise<Json> {
  const outcome = await tryCreate(server, `/api/v1/namespaces/${namespace}/pods`, { spec: spec as JsonObject })
  return at(outcome, 'message') ?? at(outcome, 'warnings') ?? 'accepted'
}

const pods: readonly (readonly [string, object])[] = [
  ['is empty', { containers: [container()] }],
  ['is secure', { containers: [container(secure)] }],
  [
    'is secure at the pod level',
    {
      securityContext: { runAsNonRoot: true, seccompProfile: secure.seccompProfile },
      containers: [container({ ...secure, runAsNonRoot: undefined, seccompProfile: undefined })],
    },
  ],
  ['uses its host', { hostNetwork: true, hostPID: true, hostIPC: true, containers: [container(secure)] }],
  [
    'is privileged',
    { containers: [container({ privileged: true }), { ...container({ privileged: true }), name: 'd' }] },
  ],
  [
    'has host ports and host volumes',
    {
      containers: [container(secure, { ports: [{ containerPort: 80, hostPort: 80 }] })],
      volumes: [
        { name: 'v', hostPath: { path: '/' } },
        { name: 'n', nfs: { server: 's', path: '/' } },
      ],
    },
  ],
  [
    'adds capabilities',
    { containers: [container({ ...secure, capabilities: { add: ['SYS_ADMIN', 'CHOWN'], drop: ['ALL'] } })] },
  ],
  [
    'runs as root',
    {
      securityContext: { runAsUser: 0, runAsNonRoot: false },
      containers: [container({ ...secure, runAsUser: 0, runAsNonRoot: false })],
    },
  ],
  [
    'is unconfined',
    {
      securityContext: { seccompProfile: { type: 'Unconfined' }, sysctls: [{ name: 'kernel.msgmax', value: '1' }] },
      containers: [container({ ...secure, seccompProfile: { type: 'Unconfined' } })],
    },
  ],
]

describe.each(['baseline', 'restricted'])('under the standard %s', (level) => {
  it.each(pods)('a pod that %s', async (_what, spec) => {
    expect(await told(await secured({ enforce: level }), spec)).toMatchSnapshot()
  })
})

describe('the Pod Security Standards', () => {
  it('may only warn, and always only warn about workloads', async () => {
    const namespace = await secured({ warn: 'restricted', 'warn-version': 'v1.30' })
    expect(await told(namespace, { containers: [container()] })).toMatchSnapshot('pod')
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container()] } }
    const enforced = await secured({ enforce: 'restricted', warn: 'baseline' })
    const path = (where: string): string => `/apis/apps/v1/namespaces/${where}/deployments`
    const deployment = { spec: { selector: { matchLabels: { a: 'b' } }, template } } as unknown as JsonObject
    const warnings = async (where: string): Promise<Json> =>
      at(await tryCreate(server, path(where), deployment), 'warnings') ?? 'none'
    expect([await warnings(namespace), await warnings(enforced)]).toMatchSnapshot('deployments')
  })

  it('have known names', async () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'tight', 'pod-security.kubernetes.io/warn-version': 'new' }
    expect(await tryCreate(server, '/api/v1/namespaces', { metadata: { labels } })).toMatchSnapshot()
  })
})
