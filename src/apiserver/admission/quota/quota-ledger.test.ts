import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Method } from '../../../transport/transport.ts'
import { virtualClock } from '../../../clock/virtual-clock.ts'
import { seededRandom } from '../../../clock/random.ts'
import { type Json, parseJson, stringifyJson } from '../../../kube/json.ts'
import { createApiServer } from '../../server/api-server.ts'

type Call = (method: Method, path: string, body?: object) => Promise<{ readonly status: number; readonly body: Json }>

function open(): Call {
  const server = createApiServer({ clock: virtualClock(), random: seededRandom(1) })
  return async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = { accept: 'application/json', 'content-type': type }
    const answer = await server.handle({ method, path, headers, body: body && stringifyJson(body) })
    const chunks: Uint8Array[] = []
    for await (const chunk of answer.body) chunks.push(chunk)
    return { status: answer.status, body: parseJson(Buffer.concat(chunks).toString()) }
  }
}

const namespace = '/api/v1/namespaces/default'
const quota = (hard: object): object => ({ metadata: { name: 'q' }, spec: { hard } })
const pod = (name: string, milli: number): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: `${milli}m` } } }] },
})

describe('the usage of a quota', () => {
  it('is reported right after the quota is created, and after every change', async () => {
    const call = open()
    await call('POST', `${namespace}/pods`, pod('old', 200))
    await call('POST', `${namespace}/resourcequotas`, quota({ pods: '2', 'requests.cpu': '1', resourcequotas: '5' }))
    const used = async (): Promise<unknown> =>
      ((await call('GET', `${namespace}/resourcequotas/q`)).body as { status?: { used?: unknown } }).status?.used
    expect(await used()).toEqual({ pods: '1', 'requests.cpu': '200m', resourcequotas: '1' })
    await call('POST', `${namespace}/pods`, pod('new', 300))
    expect(await used()).toEqual({ pods: '2', 'requests.cpu': '500m', resourcequotas: '1' })
    await call('PATCH', `${namespace}/pods/old/status`, { status: { phase: 'Succeeded' } })
    expect(await used()).toEqual({ pods: '1', 'requests.cpu': '300m', resourcequotas: '1' })
    await call('DELETE', `${namespace}/pods/new`)
    expect(await used()).toEqual({ pods: '0', 'requests.cpu': '0', resourcequotas: '1' })
    await call('PATCH', `${namespace}/resourcequotas/q`, { spec: { hard: { configmaps: '5', pods: null } } })
    expect(await used()).toEqual({ 'requests.cpu': '0', configmaps: '0', resourcequotas: '1' })
  })

  it('never exceeds the quota under concurrent requests', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 12 }),
        fc.integer({ min: 0, max: 2000 }),
        async (amounts, most) => {
          const call = open()
          await call('POST', `${namespace}/resourcequotas`, quota({ 'requests.cpu': `${most}m` }))
          const answers = await Promise.all(
            amounts.map((milli, index) => call('POST', `${namespace}/pods`, pod(`p${index}`, milli))),
          )
          const sum = amounts.filter((_, index) => answers[index]!.status === 201).reduce((a, b) => a + b, 0)
          expect(sum).toBeLessThanOrEqual(most)
          // A rejected request did not fit.
          const refused = amounts.filter((_, index) => answers[index]!.status !== 201)
          for (const amount of refused) expect(sum + amount).toBeGreaterThan(most)
        },
      ),
      { numRuns: 20 },
    )
  })

  it('reaches a stable state, even if quotas count themselves', async () => {
    const names = [
      'resourcequotas',
      'count/resourcequotas',
      'configmaps',
      'count/pods',
      'pods',
      'count/ghosts.example.com',
      'memory',
    ]
    const step = fc.record({
      name: fc.constantFrom('a', 'b'),
      hard: fc.dictionary(fc.constantFrom(...names), fc.constantFrom('0', '3', '1e3', '1024Ki')),
      status: fc.option(fc.dictionary(fc.constantFrom(...names), fc.constantFrom('0', '7'))),
      isDeleted: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const call = open()
        const path = `${namespace}/resourcequotas`
        for (const { name, hard, status, isDeleted } of steps) {
          if (isDeleted) await call('DELETE', `${path}/${name}`)
          await call('POST', path, { metadata: { name }, spec: { hard } })
          await call('PATCH', `${path}/${name}`, { spec: { hard } })
          if (status) await call('PATCH', `${path}/${name}/status`, { status: { used: status } })
        }
        const { items, metadata } = (await call('GET', path)).body as unknown as QuotaList
        // Each request is one write, and changes the status of each quota at most once.
        expect(Number(metadata.resourceVersion)).toBeLessThan(200 + steps.length * 4 * 3)
        for (const { spec, status } of items) {
          expect(status?.hard ?? {}).toEqual(spec.hard ?? {})
          const own = ['resourcequotas', 'count/resourcequotas'].filter((name) => spec.hard?.[name] !== undefined)
          expect(own.map((name) => status?.used?.[name])).toEqual(own.map(() => String(items.length)))
        }
      }),
      { numRuns: 50 },
    )
  })
})

interface QuotaList {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly {
    readonly spec: { readonly hard?: Readonly<Record<string, string>> }
    readonly status?: { readonly hard?: object; readonly used?: Readonly<Record<string, string>> }
  }[]
}
