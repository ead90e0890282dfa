import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { configMap, type Embedded, embedded, configMaps } from '../../../test/embedded.ts'
import { faultyTransport, type FaultyTransport } from '../../../test/app-operator.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { Writer } from '../../cache/writer.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { Transport } from '../../transport/transport.ts'
import { seededRandom } from '../../clock/random.ts'
import { clientErrors } from '../../client/errors.ts'
import { transportErrors } from '../../transport/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json } from '../../kube/json.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { exactly, generated } from '../../operator/view/input.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import type { Apply, Mutation, MutationOutcome } from '../../operator/plan.ts'
import { combine } from './combined-wave.ts'
import { createExecutor, type Execute, type ExecutorOptions, type WriteFinding } from './executor.ts'
import { actingAs, impersonationOf, mintedCredentials, withCredentials } from './identity.ts'

interface Bench extends Embedded {
  readonly execute: Execute
  readonly findings: WriteFinding[]
  readonly sent: string[]
  readonly spent: number[]
  readonly faultyTransport: FaultyTransport
  /** Runs the clock until it is there. */
  readonly soon: <T>(promise: Promise<T>) => Promise<T>
}

function bench(
  options: Partial<ExecutorOptions> = {},
  through: (on: Embedded, transport: Transport) => Transport = (_, transport) => transport,
): Bench {
  const on = embedded()
  const sent: string[] = []
  const between = faultyTransport()
  const counted = (transport: Transport): Transport => ({
    ...transport,
    send(request) {
      sent.push(`${request.method} ${request.path.replace(/\?.*/, '')}`)
      return transport.send(request)
    },
  })
  const transport = through(on, counted(between.through(inProcessTransport(on.server))))
  const client = createClient({ transport, clock: on.clock, random: seededRandom(3) })
  const cache = createSharedCache({ client, clock: on.clock, random: seededRandom(4) })
  const findings: WriteFinding[] = []
  const spent: number[] = []
  const send = createExecutor({
    writer: cache.writer('kit'),
    reader: client,
    fieldManager: 'kit',
    outputs: [ConfigMap, Secret],
    kinds: [],
    onSent: (writes) => void spent.push(writes),
    ...options,
  })
  const onFinding = (finding: WriteFinding): void => void findings.push(finding)
  const execute: Execute = (wave, run) => send(wave, { written: new Set(), ...run, onFinding })
  const soon = async <T>(promise: Promise<T>): Promise<T> => {
    let isThere = false
    const noted = promise.finally(() => (isThere = true))
    noted.catch(() => undefined)
    await on.clock.until(() => isThere)
    return await noted
  }
  return { ...on, execute, findings, sent, spent, faultyTransport: between, soon }
}

const apply = (object: KubeObject, more: Partial<Apply> = {}): Apply => ({
  verb: 'apply',
  subject: 'config',
  resource: object.kind === 'Secret' ? Secret : ConfigMap,
  object: object as UntypedObject,
  why: 'missing',
  force: false,
  ...more,
})

const names = (outcomes: readonly MutationOutcome[]): readonly string[] =>
  outcomes.map((outcome) => (outcome.result === 'failed' ? (outcome.error as MusterError).name : outcome.result))

describe('the executor', () => {
  it('skips field validation by the server for built-in kinds, whose applies reject unknown fields', async () => {
    const { execute, soon } = bench({ fieldValidation: () => 'Ignore' })
    const mistyped = { ...configMap('a', { x: '1' }), dat: { x: '2' } } as unknown as KubeObject
    const [outcome] = await soon(execute([apply(mistyped)]))
    expect(outcome).toMatchObject({
      result: 'failed',
      error: { message: expect.stringContaining('.dat: field not declared in schema') },
    })
  })

  it('sends two applies that agree as one, and returns the object to both', async () => {
    const { execute, sent, soon, spent, client } = bench()
    const wave = [apply(configMap('a', { x: '1' })), apply(configMap('a', { y: '2' }), { subject: 'other' })]
    const outcomes = await soon(execute(wave))
    expect(sent).toEqual(['PATCH /api/v1/namespaces/default/configmaps/a'])
    expect(outcomes[0]).toBe(outcomes[1])
    expect(await client.get(configMaps, { name: 'a', namespace: 'default' })).toMatchObject({
      data: { x: '1', y: '2' },
    })
    expect(spent).toEqual([1])
  })

  it('sends none of two contradictory applies, and names the dependents and the field', async () => {
    const { execute, sent, findings } = bench()
    const wave = [apply(configMap('a', { x: '1' })), apply(configMap('a', { x: '2' }), { subject: 'other' })]
    expect(names(await execute(wave))).toEqual(['ContradictoryWrites', 'ContradictoryWrites'])
    expect(sent).toEqual([])
    expect(findings).toEqual([
      {
        kind: 'severalWrites',
        object: { kind: 'v1 ConfigMap', name: { name: 'a', namespace: 'default' } },
        subjects: ['config', 'other'],
        fields: ['data.x'],
        message: 'kit: config and other both write ConfigMap default/a, and disagree about data.x.',
      },
    ])
  })

  it('does not write an object that the same plan deletes', async () => {
    const { execute, sent } = bench()
    const deletion: Mutation = {
      verb: 'delete',
      subject: 'old',
      resource: ConfigMap,
      name: { name: 'a', namespace: 'default' },
      uid: 'u',
      why: 'pruned',
    }
    expect(names(await execute([apply(configMap('a')), deletion]))).toEqual([
      'ContradictoryWrites',
      'ContradictoryWrites',
    ])
    expect(sent).toEqual([])
  })

  it('creates only what does not exist: an existing object is read and reported, and nothing is written', async () => {
    const { execute, client, findings, sent, soon } = bench()
    const run = { written: new Set<string>() }
    const there = await soon(client.create(ConfigMap, configMap('a', { theirs: 'x' })))
    sent.length = 0
    // Both without a common field, which server-side apply would merge, and with one, which is a conflict of managers.
    for (const data of [{ ours: 'y' }, { theirs: 'y' }])
      expect(await soon(execute([apply(configMap('a', data))], run))).toEqual([{ result: 'exists', object: there }])
    const path = '/api/v1/namespaces/default/configmaps/a'
    expect(sent).toEqual([`PATCH ${path}`, `GET ${path}`, `PATCH ${path}`, `GET ${path}`])
    // The write that follows is the first one of the run.
    await soon(execute([apply(configMap('a', { ours: 'y' }), { why: 'changed' })], run))
    expect(findings).toEqual([])
  })

  it('reports the conflict if the existing object is gone when it is read', async () => {
    const { execute, client, faultyTransport: between, soon } = bench()
    await soon(client.create(ConfigMap, configMap('a')))
    between.hinder = async ({ method }) => {
      if (method === 'GET') await client.delete(ConfigMap, { name: 'a', namespace: 'default' })
    }
    expect(names(await soon(execute([apply(configMap('a'))])))).toEqual(['Conflict'])
  })

  it('reports an object that several waves of one reconcile write, but not one that two reconciles write', async () => {
    const { execute, findings, soon } = bench()
    const [one, two] = [{ written: new Set<string>() }, { written: new Set<string>() }]
    await soon(execute([apply(configMap('a', { x: '1' }))], one))
    await soon(execute([apply(configMap('a', { x: '2' }), { why: 'changed' })], two))
    expect(findings).toEqual([])
    await soon(execute([apply(configMap('a', { x: '3' }), { why: 'changed' })], two))
    expect(findings).toMatchObject([{ kind: 'severalWrites', subjects: ['config'] }])
  })

  it('rejects undeclared mutations without a request, and reports them', async () => {
    const { execute, sent, findings } = bench({ outputs: [Secret] })
    expect(names(await execute([apply(configMap('a'))]))).toEqual(['UndeclaredOutput'])
    expect(sent).toEqual([])
    expect(findings).toMatchObject([
      { kind: 'undeclaredWrite', message: 'kit wants to write configmaps/v1, which it does not declare.' },
    ])
  })

  it('rejects an object with an undeclared name, and writes declared ones', async () => {
    const outputs = [
      exactly(ConfigMap, { name: 'a', namespace: 'default' }),
      generated(ConfigMap, { prefix: 'g-', namespace: 'default' }),
    ]
    const { execute, sent, findings, soon } = bench({ outputs })
    const wave = [apply(configMap('a')), apply(configMap('g-1')), apply(configMap('b'))]
    expect(names(await soon(execute(wave)))).toEqual(['done', 'done', 'UndeclaredOutput'])
    expect(sent).toHaveLength(2)
    expect(findings).toMatchObject([
      {
        kind: 'undeclaredWrite',
        object: { name: { name: 'b', namespace: 'default' } },
        message:
          'kit wants to write ConfigMap default/b, but declares configmaps/v1 default/a, configmaps/v1 default/g-* only.',
      },
    ])
  })

  it('limits concurrent writes', async () => {
    let [open, most] = [0, 0]
    const writer = {
      async apply(_: unknown, object: KubeObject) {
        most = Math.max(most, ++open)
        await Promise.resolve()
        open--
        return object
      },
    } as unknown as Writer
    const reader = embedded().client
    const execute = createExecutor({
      writer,
      reader,
      fieldManager: 'kit',
      outputs: [ConfigMap],
      kinds: [],
      parallel: 3,
    })
    const outcomes = await execute(Array.from({ length: 20 }, (_, index) => apply(configMap(`c${index}`))))
    expect(outcomes).toHaveLength(20)
    expect(most).toBe(3)
  })

  it('masks Secret values in errors of the server', async () => {
    const on = bench()
    const metadata = { name: 's', namespace: 'default' }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: { password: btoa('correct horse') } }
    on.faultyTransport.hinder = () => {
      throw new MusterError(
        clientErrors.Forbidden,
        'admission webhook "pw" denied the request: "correct horse" is too weak',
      )
    }
    const [outcome] = await on.soon(on.execute([apply(secret)]))
    const { error } = outcome as { readonly error: MusterError }
    expect(error).toMatchObject({ name: 'Forbidden', message: expect.stringContaining('Secret default/s') })
    expect([error.message, String(error.cause), error.stack].join('\n')).not.toContain('horse')
    on.faultyTransport.hinder = () => {
      throw new MusterError(clientErrors.Forbidden, 'not in this namespace')
    }
    expect(await on.soon(on.execute([apply(secret)]))).toMatchObject([{ error: { message: 'not in this namespace' } }])
  })
})

describe('a failed write', () => {
  const after = (times: number, error: () => MusterError): ((request: unknown) => void) => {
    let left = times
    return () => {
      if (left-- > 0) throw error()
    }
  }

  it('is repeated if the failure is transient and the write is safe to repeat', async () => {
    const on = bench()
    on.faultyTransport.hinder = after(2, () => new MusterError(transportErrors.ConnectionLost, 'cut off'))
    expect(names(await on.soon(on.execute([apply(configMap('a'))])))).toEqual(['done'])
    expect(on.sent).toHaveLength(3)
    // One change, however often it had to be said.
    expect(on.spent).toEqual([1])
  })

  it('is repeated a limited number of times', async () => {
    const on = bench()
    on.faultyTransport.hinder = after(1000, () => new MusterError(clientErrors.ServiceUnavailable, 'down'))
    expect(names(await on.soon(on.execute([apply(configMap('a'))])))).toEqual(['ServiceUnavailable'])
    expect(on.sent).toHaveLength(5)
  })

  it('waits as long as the server asks, within its deadline; otherwise the reconcile is requeued not earlier', async () => {
    const on = bench({ timeoutMs: 10_000 })
    on.faultyTransport.hinder = after(
      1,
      () => new MusterError(clientErrors.TooManyRequests, 'slowly', { retryAfterMs: 5000 }),
    )
    const startedAt = on.clock.now()
    expect(names(await on.soon(on.execute([apply(configMap('a'))])))).toEqual(['done'])
    expect(on.clock.now() - startedAt).toBeGreaterThanOrEqual(5000)
    on.faultyTransport.hinder = after(
      1,
      () => new MusterError(clientErrors.TooManyRequests, 'slowly', { retryAfterMs: 60_000 }),
    )
    const [outcome] = await on.soon(on.execute([apply(configMap('a', { x: '1' }))]))
    expect(outcome).toMatchObject({ result: 'failed', error: { name: 'TooManyRequests', retryAfterMs: 60_000 } })
    expect(on.sent).toHaveLength(3)
  })

  it('is not retried after a conflict', async () => {
    const on = bench()
    await on.client.create(configMaps, configMap('a', { x: 'theirs' }))
    const outcomes = await on.soon(on.execute([apply(configMap('a', { x: 'ours' }), { why: 'changed' })]))
    expect((outcomes[0] as { readonly error: MusterError }).error.retry).toBe('conflict')
    expect(on.sent).toHaveLength(1)
  })
})

describe('the identity of an operator', () => {
  const account = { name: 'kit', namespace: 'default' }
  const grant = async ({ client }: Embedded): Promise<void> => {
    const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: true }
    const meta = { name: 'kit', namespace: 'default' }
    const roleRef = { apiGroup: rbac.group, kind: 'Role', name: 'kit' }
    const sa = { group: '', version: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true }
    await client.create(sa, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta })
    await client.create({ ...rbac, kind: 'Role', plural: 'roles' }, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: meta,
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'patch'] }],
    } as KubeObject)
    await client.create({ ...rbac, kind: 'RoleBinding', plural: 'rolebindings' }, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: meta,
      roleRef,
      subjects: [{ kind: 'ServiceAccount', ...account }],
    } as KubeObject)
  }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default' } }

  it.each([
    ['by impersonation', (_: Embedded, transport: Transport) => actingAs(transport, impersonationOf(account))],
    [
      'by a minted token',
      ({ client, clock }: Embedded, transport: Transport) =>
        withCredentials(transport, mintedCredentials({ client, clock, serviceAccount: account })),
    ],
  ])('decides what it may write, not the identity of the manager: %s', async (_, through) => {
    const on = bench({}, through)
    await grant(on)
    // Keys are made outside of virtual time.
    expect(names(await on.execute([apply(configMap('a')), apply(secret)]))).toEqual(['done', 'Forbidden'])
  })

  it('stays valid: a token is renewed before it expires, and once when it is rejected', async () => {
    const minted: string[] = []
    const on = bench({}, ({ client, clock }, transport) =>
      withCredentials(
        transport,
        mintedCredentials({
          client: {
            async createToken(name, options) {
              const made = await client.createToken(name, options)
              minted.push(made.token)
              return made
            },
          },
          clock,
          serviceAccount: account,
          expirationSeconds: 600,
        }),
      ),
    )
    await grant(on)
    const write = async (text: string): Promise<readonly string[]> =>
      names(await on.execute([apply(configMap('a', { text }), { why: 'changed' })]))
    expect(await write('1')).toEqual(['done'])
    await on.clock.advance(470_000)
    expect(await write('2')).toEqual(['done'])
    expect(minted).toHaveLength(1)
    await on.clock.advance(20_000)
    expect(await write('3')).toEqual(['done'])
    expect(minted).toHaveLength(2)
    let refusals = 1
    on.faultyTransport.hinder = (request) => {
      if (refusals-- > 0) Object.assign(request.headers, { authorization: 'Bearer wrong' })
    }
    await on.clock.advance(20_000)
    expect(await write('4')).toEqual(['done'])
    expect(minted).toHaveLength(3)
  })
})

describe('combined writes', () => {
  const data = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('1', '2'), { maxKeys: 4 })
  const waves = fc.array(fc.tuple(fc.constantFrom('x', 'y'), data), { maxLength: 6 })

  it('return an outcome for each mutation, contain all desired values, and contradict exactly where two values differ', () => {
    fc.assert(
      fc.property(waves, (wave) => {
        const combined = combine(wave.map(([name, held]) => apply(configMap(name, held))))
        expect(combined.flatMap(({ positions }) => positions).toSorted((a, b) => a - b)).toEqual([...wave.keys()])
        for (const { mutation, positions, contradictions } of combined) {
          const wanted = positions.map((position) => wave[position]![1])
          const differing = ['a', 'b', 'c', 'd'].filter(
            (key) => new Set(wanted.flatMap((held) => (Object.hasOwn(held, key) ? [held[key]] : []))).size > 1,
          )
          expect(contradictions.length > 0).toBe(differing.length > 0)
          if (contradictions.length > 0) continue
          const union: Json = Object.assign({}, ...wanted) as Json
          expect((mutation as Apply).object['data'] ?? {}).toEqual(union)
        }
      }),
    )
  })
})
