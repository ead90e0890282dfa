import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Method } from '../../client/transport.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { seededRandom } from '../../clock/random.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import { createApiServer } from '../api-server.ts'

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

describe('what is used of a quota', () => {
  it('is told right after the quota is made, and after all that changes it', async () => {
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

  it('is never more than the quota, however many ask at once', async () => {
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
          // Whoever was refused did not fit.
          const refused = amounts.filter((_, index) => answers[index]!.status !== 201)
          for (const amount of refused) expect(sum + amount).toBeGreaterThan(most)
        },
      ),
      { numRuns: 20 },
    )
  })
})
