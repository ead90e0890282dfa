import { X509Certificate } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, configMaps, crds } from '../../../test/embedded.ts'
import { type ApiServer, createApiServer } from '../../apiserver/server/api-server.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { TransportRequest } from '../../transport/transport.ts'
import { seededRandom } from '../../clock/random.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { clientErrors } from '../../client/errors.ts'
import { managerErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ValidatingWebhookConfiguration as ValidatingConfiguration } from '../../kube/types/admissionregistration/v1.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { defineConversion } from '../../operator/kind/conversion.ts'
import { defineKind, integer, optional, string } from '../../operator/index.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { defineWebhook } from '../../operator/kind/webhook.ts'
import { mutatingConfigurations, validatingConfigurations } from './registration.ts'
import { inProcessWebhooks } from '../testing/in-process-webhooks.ts'
import { createWebhookHost, type WebhookHost } from './webhook-host.ts'
import { startWebhooks, type Webhooks, type WebhooksOptions } from './webhooks.ts'

const oldVersion = {
  version: 'v1alpha1',
  spec: { size: integer({ default: 1 }), engine: optional(string()) },
} as const

const Cache = defineKind({
  group: 'cache.example.com',
  version: 'v1',
  kind: 'Cache',
  spec: { servers: integer({ default: 1 }), engine: optional(string()) },
  otherVersions: [oldVersion],
})
const oldCaches = { ...Cache, version: 'v1alpha1' }

const checks = defineWebhook({
  for: Cache,
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  validate({ object, old, operation }) {
    if (operation === 'DELETE') return object.spec.engine === 'vital' ? [{ message: 'it is vital' }] : undefined
    if (old && object.spec.servers < old.spec.servers) return { warnings: ['fewer servers forget more'] }
    if (object.spec.servers % 2 === 0) return [{ field: 'spec.servers', message: 'must be odd' }]
    return undefined
  },
  mutate: ({ object }) => ({ ...object, spec: { engine: 'memcached', ...object.spec } }),
})

const sizes = defineConversion(Cache, oldVersion, {
  toStored: ({ spec: { size, ...rest } }) => ({ spec: { ...rest, servers: size } }),
  fromStored: ({ spec: { servers, ...rest } }) => ({ spec: { ...rest, size: servers } }),
})

function cacheObject(name: string, spec: object, apiVersion = 'cache.example.com/v1'): UntypedObject {
  return { apiVersion, kind: 'Cache', metadata: { name, namespace: 'default' }, spec }
}

const secret = { namespace: 'default', name: 'webhook-certificates' }
const name = 'muster-cache'
const at = { namespace: 'default', name: 'one' }

interface Setting {
  readonly clock: VirtualClock
  readonly server: ApiServer
  readonly client: Client
  readonly host: WebhookHost
  readonly problems: unknown[]
  /** What was sent to the server, watches and lists aside: `PATCH /apis/…`. */
  readonly sent: string[]
  /** Another process that does the same. */
  start(this: void, more?: Partial<WebhooksOptions>): Promise<Webhooks>
}

/** In virtual time that begins now: certificates must be good for the machine's clock, too. */
async function setting({ overTls = false } = {}): Promise<Setting> {
  const clock = virtualClock(Date.now())
  const host = createWebhookHost({ clock })
  const address = { url: overTls ? 'https://127.0.0.1:0' : 'https://in.process' }
  const server = createApiServer({
    clock,
    random: seededRandom(7),
    ...(!overTls && { webhooks: inProcessWebhooks(host, address) }),
  })
  const sent: string[] = []
  const transport = inProcessTransport(server)
  const send = (request: TransportRequest): ReturnType<typeof transport.send> => {
    const [path = '', query = ''] = request.path.split('?')
    if (!/watch=|limit=|sendInitialEvents/.test(query)) sent.push(`${request.method} ${path}`)
    return transport.send(request)
  }
  const client = createClient({ transport: { ...transport, send }, clock, random: seededRandom(8) })
  const problems: unknown[] = []
  await client.create(crds, Cache.crd() as unknown as UntypedObject)
  const start = async (more: Partial<WebhooksOptions> = {}): Promise<Webhooks> => {
    const cache = createSharedCache({ client, clock, random: seededRandom(9) })
    const started = await startWebhooks({
      host,
      clock,
      cluster: { client, cache },
      secret,
      address,
      listen: overTls ? { host: '127.0.0.1', port: 0 } : undefined,
      onProblem: (_where, error) => problems.push(error),
      ...more,
    })
    onTestFinished(async () => {
      await started.close()
      cache.close()
    })
    return started
  }
  return { clock, server, client, host, problems, sent, start }
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  return await promise.then(
    () => 'none',
    (error: unknown) => (error as Error).message,
  )
}

/** All bundles that the server knows. */
async function bundles(client: Client): Promise<readonly string[]> {
  const hooks = await Promise.all(
    [validatingConfigurations, mutatingConfigurations].map(async (resource) => {
      const { webhooks = [] } = (await client.get(resource, { name })) as unknown as ValidatingConfiguration
      return webhooks.map(({ clientConfig }) => clientConfig.caBundle)
    }),
  )
  const crd = (await client.get(crds, { name: 'caches.cache.example.com' })) as unknown as CustomResourceDefinition
  const converting = crd.spec.conversion?.webhook?.clientConfig?.caBundle
  return [...hooks.flat(), converting].map((bundle) => Buffer.from(bundle ?? '', 'base64').toString())
}

async function served(client: Client): Promise<X509Certificate> {
  const { data = {} } = await client.get(Secret, secret)
  return new X509Certificate(Buffer.from(data['tls.crt'] ?? '', 'base64'))
}

/** Signatures do not change: each is verified once. */
const verified = new Map<string, X509Certificate | undefined>()

function isTrusted(bundle: string, leaf: X509Certificate, now: number): boolean {
  const isValid = (one: X509Certificate): boolean =>
    one.validFromDate.getTime() <= now && now < one.validToDate.getTime()
  const key = `${leaf.serialNumber} ${bundle}`
  if (!verified.has(key)) {
    const issuers = bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
    const issuer = issuers
      .map((one) => new X509Certificate(one))
      .find((one) => leaf.checkIssued(one) && leaf.verify(one.publicKey))
    verified.set(key, issuer)
  }
  const issuer = verified.get(key)
  return issuer !== undefined && isValid(issuer) && isValid(leaf)
}

const minute = 60_000
const hour = 60 * minute
const everything = { webhooks: [checks], conversions: [sizes] }

describe('webhooks over TLS', () => {
  it('deny with the author’s message, set defaults, warn, and receive deletes', async () => {
    const { client, server, clock, start } = await setting({ overTls: true })
    const webhooks = await start()
    webhooks.set('cache', everything)
    await webhooks.settled()
    expect(await client.create(Cache, cacheObject('one', { servers: 3 }))).toMatchObject({
      spec: { servers: 3, engine: 'memcached' },
    })
    expect(await refusal(client.create(Cache, cacheObject('two', { servers: 2 })))).toContain(
      'admission webhook "caches.cache.muster.dev" denied the request: ' +
        'Cache.cache.example.com "two" is invalid: spec.servers: must be odd',
    )
    const warnings: string[] = []
    const warned = createClient({
      transport: inProcessTransport(server),
      clock,
      onWarning: ({ text }) => warnings.push(text),
    })
    const live = await client.get(Cache, at)
    await warned.update(Cache, { ...live, spec: { servers: 1 } })
    expect(warnings).toEqual(['fewer servers forget more'])
    await client.create(Cache, cacheObject('vital', { engine: 'vital' }))
    expect(await refusal(client.delete(Cache, { ...at, name: 'vital' }))).toContain('it is vital')
  })

  it('convert on write and on read, also in lists', async () => {
    const { client, start } = await setting({ overTls: true })
    const webhooks = await start()
    webhooks.set('cache', everything)
    await webhooks.settled()
    const old = 'cache.example.com/v1alpha1'
    expect(await client.create(oldCaches, cacheObject('one', { size: 3 }, old))).toMatchObject({ spec: { size: 3 } })
    expect(await client.get(Cache, at)).toMatchObject({ spec: { servers: 3, engine: 'memcached' } })
    await client.create(Cache, cacheObject('two', { servers: 5 }))
    const { items } = await client.list(oldCaches)
    expect(items.map(({ apiVersion, spec }) => [apiVersion, spec])).toEqual([
      [old, { size: 3, engine: 'memcached' }],
      [old, { size: 5, engine: 'memcached' }],
    ])
    // The webhook is for v1, and asked about what is written at v1alpha1 as well.
    expect(await refusal(client.create(oldCaches, cacheObject('three', { size: 2 }, old)))).toContain('must be odd')
  })

  it('see whether a request is a dry run', async () => {
    const { client, start } = await setting({ overTls: true })
    const seen: boolean[] = []
    const webhooks = await start()
    webhooks.set('cache', {
      webhooks: [defineWebhook({ for: Cache, validate: ({ dryRun }) => void seen.push(dryRun) })],
    })
    await webhooks.settled()
    await client.create(Cache, cacheObject('one', {}), { dryRun: true })
    await client.create(Cache, cacheObject('one', {}))
    expect(seen).toEqual([true, false])
  })

  it('do not fail a request while certificates and authorities rotate under load', async () => {
    const { client, clock, start, problems } = await setting({ overTls: true })
    const lifetimes = { authorityMs: 20_000, servingMs: 6000, settleMs: 2000, backdateMs: hour }
    const webhooks = await start({ lifetimes })
    // Another replica turns the same wheel.
    await start({ lifetimes, host: createWebhookHost({ clock }) })
    webhooks.set('cache', everything)
    await webhooks.settled()
    await client.create(Cache, cacheObject('one', {}))
    const failed: string[] = []
    const seen = new Set<string>()
    let asked = 0
    let isOver = false
    const waiting = new Set<() => void>()
    const worker = async (): Promise<void> => {
      for (;;) {
        if (isOver) return
        failed.push(await refusal(client.create(Cache, cacheObject('two', {}), { dryRun: true })))
        failed.push(await refusal(client.get(oldCaches, at)))
        asked++
        for (const resolve of waiting) resolve()
        waiting.clear()
      }
    }
    const workers = [worker(), worker()]
    for (let second = 0; second < 30; second++) {
      await clock.advance(1000)
      // Requests take real time, and meanwhile the virtual one stands still.
      await new Promise<void>((resolve) => waiting.add(resolve))
      seen.add((await served(client)).serialNumber)
    }
    isOver = true
    await Promise.all(workers)
    expect(failed.filter((words) => words !== 'none')).toEqual([])
    expect(asked).toBeGreaterThanOrEqual(30)
    expect(seen.size).toBeGreaterThan(6)
    expect(problems).toEqual([])
  }, 60_000)
})

describe('webhooks of several clusters', () => {
  it('are independent: an unavailable cluster affects only itself, and can be removed', async () => {
    const { client, clock, start, problems } = await setting()
    const webhooks = await start()
    const send = (): Promise<never> => Promise.reject(new MusterError(clientErrors.Unreachable, 'no route to edge'))
    const away = createClient({ transport: { ...client.transport, send }, clock, random: seededRandom(5) })
    const cache = createSharedCache({ client: away, clock, random: seededRandom(6) })
    onTestFinished(() => cache.close())
    webhooks.set('cache.far', everything, { client: away, cache })
    let isFarSettled = false
    void webhooks.settled('cache.far').then(() => (isFarSettled = true))
    webhooks.set('cache', everything)
    let isSettled = false
    void webhooks.settled('cache').then(() => (isSettled = true))
    await clock.advance(60_000)
    expect([isSettled, isFarSettled]).toEqual([true, false])
    // Another client and cache replace the unavailable cluster, and the requests to it end.
    const again = createSharedCache({ client, clock, random: seededRandom(6) })
    onTestFinished(() => again.close())
    webhooks.set('cache.far', {}, { client, cache: again })
    await clock.advance(60_000)
    expect(isFarSettled).toBe(true)
    problems.length = 0
    await clock.advance(600_000)
    expect(problems).toEqual([])
  })
})

describe('webhooks over generations of certificates', () => {
  it('are always trusted by every published CA bundle', async () => {
    const { client, clock, start, problems } = await setting()
    const lifetimes = { authorityMs: 20 * minute, servingMs: 5 * minute, settleMs: minute }
    const webhooks = await start({ lifetimes })
    await start({ lifetimes, host: createWebhookHost({ clock }) })
    webhooks.set('cache', everything)
    await webhooks.settled()
    const [leaves, authorities] = [new Set<string>(), new Set<string>()]
    for (let passed = 0; passed < 2 * hour; passed += minute) {
      await clock.advance(minute)
      const leaf = await served(client)
      leaves.add(leaf.serialNumber)
      authorities.add(leaf.issuer)
      for (const bundle of await bundles(client)) expect(isTrusted(bundle, leaf, clock.now())).toBe(true)
    }
    expect(authorities.size).toBeGreaterThanOrEqual(8)
    expect(leaves.size).toBeGreaterThan(25)
    expect(problems).toEqual([])
  }, 60_000)

  it('make no request while nothing is due', async () => {
    const { client, clock, start, sent } = await setting()
    const webhooks = await start()
    await start({ host: createWebhookHost({ clock }) })
    webhooks.set('cache', everything)
    await webhooks.settled()
    await clock.advance(hour)
    sent.length = 0
    await clock.advance(4 * hour)
    expect(sent).toEqual([])
    // A third, later, finds everything in order.
    await start({ host: createWebhookHost({ clock }) })
    await clock.advance(1000)
    // What it may do is asked once for each kind, and changes nothing.
    const review = 'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    expect(sent.filter((request) => !request.startsWith('GET '))).toEqual([review, review, review])
    expect(await bundles(client)).toHaveLength(3)
  })

  it('are published even for an unavailable host: no authority signs before all trust it', async () => {
    const { client, clock, start } = await setting()
    const lifetimes = { authorityMs: 40 * minute, servingMs: 9 * minute, settleMs: minute }
    const gone = await start({ lifetimes })
    gone.set('cache', everything)
    await gone.settled()
    await gone.close()
    await start({ lifetimes, host: createWebhookHost({ clock }) })
    const authorities = new Set<string>()
    for (let passed = 0; passed < hour; passed += minute) {
      await clock.advance(minute)
      const leaf = await served(client)
      authorities.add(leaf.issuer)
      for (const bundle of await bundles(client)) expect(isTrusted(bundle, leaf, clock.now())).toBe(true)
    }
    expect(authorities.size).toBe(3)
  })

  it('agree on one authority, however many start at once', async () => {
    const { client, clock, start } = await setting()
    const all = await Promise.all(Array.from({ length: 5 }, () => start({ host: createWebhookHost({ clock }) })))
    for (const webhooks of all) webhooks.set('cache', everything)
    await Promise.all(all.map((webhooks) => webhooks.settled()))
    const leaf = await served(client)
    for (const bundle of await bundles(client)) {
      expect(bundle.match(/BEGIN CERTIFICATE/g)).toHaveLength(1)
      expect(isTrusted(bundle, leaf, clock.now())).toBe(true)
    }
  })
})

describe('registration', () => {
  it('corrects drift', async () => {
    const { client, clock, start } = await setting()
    const webhooks = await start()
    webhooks.set('cache', everything)
    await webhooks.settled()
    const before = await bundles(client)
    await client.patch(
      validatingConfigurations,
      { name },
      [{ op: 'remove', path: '/webhooks/0/clientConfig/caBundle' }],
      {
        type: 'json',
      },
    )
    await client.delete(mutatingConfigurations, { name })
    const none = { spec: { conversion: { strategy: 'None', webhook: null } } }
    await client.patch(crds, { name: 'caches.cache.example.com' }, none, { type: 'merge' })
    await clock.advance(2000)
    expect(await bundles(client)).toEqual(before)
  })

  it('keeps fields of other managers, and does not flood the server when they insist', async () => {
    const { client, clock, start, sent } = await setting()
    const webhooks = await start()
    webhooks.set('cache', everything)
    await webhooks.settled()
    const live = (await client.get(validatingConfigurations, { name })) as unknown as ValidatingConfiguration
    const foreign = { ...live.webhooks![0]!, name: 'foreign.example.com', failurePolicy: 'Ignore' }
    await client.update(validatingConfigurations, { ...live, webhooks: [...live.webhooks!, foreign] } as never)
    await clock.advance(60_000)
    const kept = (await client.get(validatingConfigurations, { name })) as unknown as ValidatingConfiguration
    expect(kept.webhooks!.map((webhook) => webhook.name)).toEqual(['caches.cache.muster.dev', 'foreign.example.com'])
    sent.length = 0
    const times = 180
    const insist = async (): Promise<void> => {
      await client.patch(
        validatingConfigurations,
        { name },
        [{ op: 'replace', path: '/webhooks/0/timeoutSeconds', value: 3 }],
        {
          type: 'json',
          fieldManager: 'foe',
        },
      )
    }
    for (let time = 0; time < times; time++) {
      await insist()
      await clock.advance(20_000)
    }
    const ours = sent.filter((request) => request.startsWith('PATCH ')).length - times
    expect(ours).toBeGreaterThan(5)
    expect(ours).toBeLessThan(30)
  }, 60_000)

  it('of a conversion waits for its kind', async () => {
    const { client, clock, start } = await setting()
    await client.delete(crds, { name: 'caches.cache.example.com' })
    const webhooks = await start()
    webhooks.set('cache', everything)
    await webhooks.settled()
    await client.create(crds, Cache.crd() as unknown as UntypedObject)
    await clock.advance(1000)
    const [, , converting] = await bundles(client)
    expect(converting).toContain('BEGIN CERTIFICATE')
  })

  it('follows the declaration of an operator, and ends before its endpoints do', async () => {
    const { client, host, clock, start } = await setting()
    const webhooks = await start()
    webhooks.set('cache', everything)
    await webhooks.settled()
    await client.create(Cache, cacheObject('one', {}))
    const words: string[] = []
    const ask = async (): Promise<void> =>
      void words.push(await refusal(client.create(Cache, cacheObject('x', {}), { dryRun: true })))
    const asking = (async () => {
      for (let times = 0; times < 50; times++) await ask()
    })()
    // Only validating remains; then nothing.
    webhooks.set('cache', {
      webhooks: [defineWebhook({ for: Cache, validate: () => undefined })],
      conversions: [sizes],
    })
    await webhooks.settled()
    expect(await refusal(client.get(mutatingConfigurations, { name }))).toContain('not found')
    await webhooks.delete('cache')
    expect(await refusal(client.get(validatingConfigurations, { name }))).toContain('not found')
    await asking
    expect(words.filter((word) => word !== 'none')).toEqual([])
    // Conversions stay: what is stored must be readable.
    expect(await client.get(oldCaches, at)).toMatchObject({ spec: { size: 1 } })
    expect(host.operators.get('cache')).toEqual({ conversions: [sizes] })
    await clock.advance(61_000)
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: null }
    await expect(host.answer('/operators/cache/validate/caches', review)).rejects.toThrow('no hosted operator')
  })

  it('refers to a Service if configured, and the certificate has its name', async () => {
    const { client, start, host, clock } = await setting()
    const service = { namespace: 'muster', name: 'hooks' }
    const webhooks = await start({ address: { service }, host: createWebhookHost({ clock }) })
    host.delete('cache')
    webhooks.set('cache', { webhooks: [checks] })
    await webhooks.settled()
    const live = (await client.get(validatingConfigurations, { name })) as unknown as ValidatingConfiguration
    expect(live.webhooks![0]!.clientConfig.service).toEqual({
      ...service,
      port: 443,
      path: '/operators/cache/validate/caches',
    })
    expect((await served(client)).checkHost('hooks.muster.svc')).toBe('hooks.muster.svc')
  })

  it('succeeds even where a webhook rejects every Secret: its own is exempt', async () => {
    const { client, clock, start, problems } = await setting()
    const webhooks = await start({ lifetimes: { servingMs: 9 * minute } })
    const no = { validate: () => [{ message: 'no' }] }
    webhooks.set('cache', {
      webhooks: [defineWebhook({ for: Secret, ...no }), defineWebhook({ for: ConfigMap, ...no })],
    })
    await webhooks.settled()
    expect(await refusal(client.create(configMaps, configMap('c')))).toContain('no')
    const other: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default' } }
    expect(await refusal(client.create(Secret, other))).toContain('no')
    const before = (await served(client)).serialNumber
    await clock.advance(7 * minute)
    expect((await served(client)).serialNumber).not.toBe(before)
    expect(problems).toEqual([])
  })
})

describe('the certificate Secret', () => {
  it('is not taken from another owner, but may have been created empty', async () => {
    const { client, start } = await setting()
    const theirs: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { ...secret }, data: { password: 'aGk=' } }
    await client.create(Secret, theirs)
    await expect(start()).rejects.toSatisfy((error) => isMusterError(error, managerErrors.CertificatesForeign))
    await client.update(Secret, { ...theirs, data: {} })
    await start()
    expect((await served(client)).ca).toBe(false)
  })

  it('is recreated with everything in it when it is damaged or deleted', async () => {
    const { client, clock, start } = await setting()
    const webhooks = await start()
    webhooks.set('cache', everything)
    await webhooks.settled()
    for (const damage of [
      () => client.patch(Secret, secret, { data: { 'ca.key': 'anVuaw==' } }, { type: 'merge' }),
      () => client.delete(Secret, secret),
    ]) {
      const before = (await served(client)).serialNumber
      await damage()
      await clock.advance(5000)
      const leaf = await served(client)
      expect(leaf.serialNumber).not.toBe(before)
      for (const bundle of await bundles(client)) expect(isTrusted(bundle, leaf, clock.now())).toBe(true)
    }
  })
})
