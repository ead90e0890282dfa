/** Writes that are answered late: what becomes of them when their object changes, or goes, while a webhook is asked. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/kube/json.ts'
import { configMapRule, hooked, type Hooked } from './admission.ts'
import { at, openServer } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'

interface Slow extends Hooked {
  /** Settles when the first question has come. */
  readonly first: Promise<void>
  /** Answers it; all others are answered at once. */
  readonly answer: () => void
}

async function slow(kind: 'mutating' | 'validating'): Promise<Slow> {
  const rules = [configMapRule, { ...configMapRule, resources: ['pods/eviction'] }]
  const hook = await hooked(server, kind, { rules, timeoutSeconds: 30 })
  const [first, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await server.must('POST', hook.path, { body: { metadata: { name: 'a' }, data: { x: '1' } } })
  const before = hook.asked.length
  hook.behave(async () => {
    if (hook.asked.length > before + 1) return { allowed: true }
    first.resolve()
    await answer.promise
    return { allowed: true }
  })
  return { ...hook, first: first.promise, answer: () => answer.resolve() }
}

/** What the webhook has been asked: the operation, and the data of both objects. */
function questions({ asked }: Slow): Json {
  return asked.map((one) => [
    at(one, 'operation') ?? null,
    at(one, 'oldObject', 'data') ?? null,
    at(one, 'object', 'data') ?? null,
  ])
}

describe.each(['mutating', 'validating'] as const)('during a call of a %s webhook', (kind) => {
  it('a patch conflicts with a changed object', async () => {
    const hook = await slow(kind)
    const writing = server.call('PATCH', `${hook.path}/a`, { type: merge, body: { data: { y: '2' } } })
    await hook.first
    await server.must('PATCH', `${hook.path}/a`, { type: merge, body: { data: { x: '3' } } })
    hook.answer()
    const { status, body } = await writing
    expect([status, at(body, 'data') ?? null]).toMatchSnapshot()
  })

  it.each([
    ['an update', 'PUT', { metadata: { name: 'a' }, data: { y: '2' } }],
    ['a patch', 'PATCH', { data: { y: '2' } }],
    ['a delete', 'DELETE', undefined],
  ] as const)('%s fails for a deleted object', async (_what, method, body) => {
    const hook = await slow(kind)
    const type = method === 'PATCH' ? merge : 'application/json'
    const writing = server.call(method, `${hook.path}/a`, { type, ...(body && { body }) })
    await hook.first
    await server.must('DELETE', `${hook.path}/a`)
    hook.answer()
    expect(server.masked(await writing)).toMatchSnapshot()
    expect((await server.call('GET', `${hook.path}/a`)).status).toBe(404)
  })

  it('a create conflicts with an existing name', async () => {
    const hook = await slow(kind)
    const writing = server.call('POST', hook.path, { body: { metadata: { name: 'b' }, data: { x: '1' } } })
    await hook.first
    await server.must('POST', hook.path, { body: { metadata: { name: 'b' }, data: { x: '2' } } })
    hook.answer()
    expect(server.masked(await writing)).toMatchSnapshot()
  })

  it('an eviction fails for a deleted pod', async () => {
    const hook = await slow(kind)
    const pods = `/api/v1/namespaces/${hook.namespace}/pods`
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    await server.must('POST', pods, { body: { metadata: { name: 'p' }, spec } })
    const evicting = server.call('POST', `${pods}/p/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } },
    })
    await hook.first
    await server.must('DELETE', `${pods}/p`)
    hook.answer()
    expect(server.masked(await evicting)).toMatchSnapshot()
    expect((await server.call('GET', `${pods}/p`)).status).toBe(404)
  })
})

describe('during a call of a validating webhook for a delete', () => {
  it('the object changes: the webhook is called again', async () => {
    const hook = await slow('validating')
    const deleting = server.call('DELETE', `${hook.path}/a`)
    await hook.first
    await server.must('PATCH', `${hook.path}/a`, { type: merge, body: { data: { x: '3' } } })
    hook.answer()
    expect((await deleting).status).toBe(200)
    expect(questions(hook)).toMatchSnapshot()
  })

  it('the object is replaced: the webhook is called for the new one', async () => {
    const hook = await slow('validating')
    const deleting = server.call('DELETE', `${hook.path}/a`)
    await hook.first
    await server.must('DELETE', `${hook.path}/a`)
    await server.must('POST', hook.path, { body: { metadata: { name: 'a' }, data: { x: '4' } } })
    hook.answer()
    expect(server.masked(await deleting)).toMatchSnapshot('answer')
    expect(questions(hook)).toMatchSnapshot('questions')
  })
})
