/** Webhooks asked by a real kube-apiserver, over TLS on loopback, with certificates that live for seconds. */
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createSharedCache, type SharedCache } from '../../src/cache/shared-cache.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import { clientErrors } from '../../src/client/errors.ts'
import { isMusterError } from '../../src/kube/muster-error.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { createWebhookHost } from '../../src/manager/webhooks/webhook-host.ts'
import { definitions, mutatingConfigurations } from '../../src/manager/webhooks/registration.ts'
import { startWebhooks, type Webhooks } from '../../src/manager/webhooks/webhooks.ts'
import { defineConversion } from '../../src/operator/kind/conversion.ts'
import { defineKind, integer, optional, string } from '../../src/operator/index.ts'
import { Secret } from '../../src/kube/kinds.ts'
import { defineWebhook } from '../../src/operator/kind/webhook.ts'

const namespace = 'default'
const secret = { namespace, name: 'webhooks-suite-certificates' }

/** A kind of its own for each run: the last one's may still be going. */
const group = `webhooks-${Date.now().toString(36)}.example.com`

const small = { version: 'v1alpha1', spec: { size: integer({ default: 1 }), note: optional(string()) } } as const

const Tank = defineKind({
  group,
  version: 'v1',
  kind: 'Tank',
  spec: { litres: integer({ default: 1 }), fuel: optional(string()), note: optional(string()) },
  otherVersions: [small],
})
const oldTanks = { ...Tank, version: 'v1alpha1' }

const dryRuns: boolean[] = []

const checks = defineWebhook({
  for: Tank,
  validate({ object, old, dryRun }) {
    dryRuns.push(dryRun)
    if (object.spec.fuel === 'explosive') throw new Error('secret: hunter2')
    if (object.spec.litres < 0) return [{ field: 'spec.litres', message: 'a tank holds something' }]
    return old && old.spec.litres > object.spec.litres ? { warnings: ['the rest is poured out'] } : undefined
  },
  mutate: ({ object }) => ({ ...object, spec: { fuel: 'diesel', ...object.spec } }),
})

const litres = defineConversion(Tank, small, {
  toStored: ({ spec, metadata }) => ({
    spec: {
      ...(spec.size !== undefined && { litres: spec.size * 100 }),
      ...(spec.note !== undefined && { note: spec.note }),
      ...(metadata.annotations?.['fuel'] !== undefined && { fuel: metadata.annotations['fuel'] }),
    } as { readonly litres: number },
  }),
  fromStored: ({ spec, metadata }) => ({
    spec: {
      ...(spec.litres !== undefined && { size: spec.litres / 100 }),
      ...(spec.note !== undefined && { note: spec.note }),
    } as { readonly size: number },
    ...(spec.fuel !== undefined && { metadata: { annotations: { ...metadata.annotations, fuel: spec.fuel } } }),
  }),
})

function tank(name: string, spec: object, apiVersion = `${group}/v1`): UntypedObject {
  return { apiVersion, kind: 'Tank', metadata: { name, namespace }, spec }
}

let client: Client
let cache: SharedCache
let webhooks: Webhooks
const warnings: string[] = []
const failures: unknown[] = []
const problems: unknown[] = []

beforeAll(async () => {
  const connection = await connectionFromKubeconfig(inject('cluster').kubeconfig)
  client = createClient({
    transport: httpTransport(connection, { clock: systemClock }),
    onWarning: ({ text }) => warnings.push(text),
  })
  cache = createSharedCache({ client })
  await client.create(definitions, Tank.crd() as unknown as UntypedObject)
  webhooks = await startWebhooks({
    host: createWebhookHost({ clock: systemClock, onFailure: ({ error }) => failures.push(error) }),
    clock: systemClock,
    cluster: { client, cache },
    secret,
    address: { url: 'https://127.0.0.1:0' },
    listen: { host: '127.0.0.1', port: 0 },
    // Real seconds: this is about a server that has its own clock, caches and connections.
    lifetimes: { authorityMs: 9000, servingMs: 4000, settleMs: 1500 },
    onProblem: (_where, error) => problems.push(error),
  })
  webhooks.set('tanks', { webhooks: [checks], conversions: [litres] })
  await webhooks.settled()
  // The server hears of a kind, and of webhooks for it, a moment after it has stored them.
  for (;;) {
    const made = await client.create(Tank, tank('probe', {}), { dryRun: true }).catch((error: unknown) => {
      if (isMusterError(error, clientErrors.KindNotServed) || String(error).includes('webhook')) return undefined
      throw error
    })
    if (made && (made['spec'] as { readonly fuel?: string }).fuel === 'diesel') break
  }
})

afterAll(async () => {
  await webhooks.delete('tanks')
  await client.deleteCollection(Tank, { namespace })
  await webhooks.close()
  cache.close()
  const name = `${Tank.plural}.${group}`
  // The conversion webhook is closed: with it the API server could not read the objects that it has to delete.
  const unconverted = { spec: { conversion: { strategy: 'None', webhook: null } } }
  await client.patch(definitions, { name }, unconverted, { type: 'merge' })
  await client.delete(definitions, { name })
  await client.delete(Secret, secret)
  await client.close()
})

async function refusal(promise: Promise<unknown>): Promise<string> {
  return await promise.then(
    () => 'none',
    (error: unknown) => (error as Error).message,
  )
}

describe('webhooks on a real server', () => {
  it('reject with the author’s message, set defaults and warn', async () => {
    const made = await client.create(Tank, tank('one', { litres: 300 }))
    expect(made).toMatchObject({ spec: { litres: 300, fuel: 'diesel' } })
    expect(await refusal(client.create(Tank, tank('two', { litres: -1 })))).toContain(
      'admission webhook "tanks.tanks.muster.dev" denied the request: ' +
        `Tank.${group} "two" is invalid: spec.litres: a tank holds something`,
    )
    warnings.length = 0
    await client.update(Tank, { ...made, spec: { litres: 200 } })
    expect(warnings).toEqual(['the rest is poured out'])
  })

  it('receive dry runs', async () => {
    dryRuns.length = 0
    await client.create(Tank, tank('dry', {}), { dryRun: true })
    await client.create(Tank, tank('wet', {}))
    expect(dryRuns).toEqual([true, false])
    expect(await refusal(client.get(Tank, { namespace, name: 'dry' }))).toContain('not found')
  })

  it('that throw are handled by the failure policy; the response names the operator but not the error', async () => {
    const words = await refusal(client.create(Tank, tank('three', { fuel: 'explosive' })))
    expect(words).toContain('failed calling webhook "tanks.tanks.muster.dev"')
    expect(words).toContain('the webhook validate/tanks of operator tanks failed (Error).')
    expect(words).not.toContain('hunter2')
    expect(failures.map((error) => (error as Error).message)).toEqual(['secret: hunter2'])
  })

  it('convert on write, on read, in lists and for server-side apply', async () => {
    await client.create(oldTanks, tank('old', { size: 2, note: 'x' }, `${group}/v1alpha1`))
    expect(await client.get(Tank, { namespace, name: 'old' })).toMatchObject({
      spec: { litres: 200, note: 'x', fuel: 'diesel' },
    })
    const seen = await client.get(oldTanks, { namespace, name: 'old' })
    expect(seen).toMatchObject({ spec: { size: 2, note: 'x' }, metadata: { annotations: { fuel: 'diesel' } } })
    const { items } = await client.list(oldTanks, { namespace })
    expect(items.every(({ apiVersion }) => apiVersion === `${group}/v1alpha1`)).toBe(true)

    const apply = { fieldManager: 'old-hand', force: true }
    await client.apply(oldTanks, tank('applied', { size: 3, note: 'a' }, `${group}/v1alpha1`), apply)
    await client.apply(Tank, tank('applied', { fuel: 'petrol' }), { fieldManager: 'new-hand', force: true })
    await client.apply(oldTanks, tank('applied', { size: 4 }, `${group}/v1alpha1`), apply)
    const { spec } = await client.get(Tank, { namespace, name: 'applied' })
    expect(spec).toEqual({ litres: 400, fuel: 'petrol' })
  })

  it('do not fail a request while certificates and authorities rotate under load', async () => {
    const authorities = new Set<string>()
    const served = new Set<string>()
    const failed: string[] = []
    let asked = 0
    const look = async (): Promise<void> => {
      const { data = {} } = await client.get(Secret, secret)
      const certificate = (key: string): string =>
        new X509Certificate(Buffer.from(data[key]!, 'base64').toString()).serialNumber
      authorities.add(certificate('ca.crt'))
      served.add(certificate('tls.crt'))
    }
    const worker = async (): Promise<void> => {
      while (authorities.size < 4) {
        const words = await refusal(client.create(Tank, tank('load', { litres: 5 }), { dryRun: true }))
        const read = await refusal(client.get(oldTanks, { namespace, name: 'one' }))
        failed.push(...[words, read].filter((one) => one !== 'none'))
        asked++
        await look()
      }
    }
    await Promise.all([worker(), worker(), worker()])
    expect(failed).toEqual([])
    expect(asked).toBeGreaterThan(50)
    expect(served.size).toBeGreaterThan(authorities.size)
    expect(problems).toEqual([])
  })

  it('correct edits of other clients', async () => {
    const name = 'muster-tanks'
    const labels = { metadata: { labels: { 'muster.dev/operator': 'nobody' } }, webhooks: [] }
    const { metadata } = await client.patch(mutatingConfigurations, { name }, labels, { type: 'merge' })
    const since = { resourceVersion: metadata.resourceVersion, fieldSelector: `metadata.name=${name}` }
    for await (const { object } of client.watch(mutatingConfigurations, since)) {
      expect(object).toMatchObject({
        metadata: { labels: { 'muster.dev/operator': 'tanks' } },
        webhooks: [{ name: 'tanks.tanks.muster.dev' }],
      })
      break
    }
  })
})
