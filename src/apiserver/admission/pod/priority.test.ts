import { describe, expect, it } from 'vitest'
import type { Method } from '../../../transport/transport.ts'
import { systemClock } from '../../../clock/system-clock.ts'
import { type Json, parseJson, stringifyJson } from '../../../kube/json.ts'
import { createApiServer } from '../../server/api-server.ts'

type Call = (method: Method, path: string, body?: object) => Promise<{ readonly status: number; readonly body: Json }>

function open(): Call {
  const server = createApiServer({ clock: systemClock })
  return async (method, path, body) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = { accept: 'application/json', 'content-type': type }
    const answer = await server.handle({ method, path, headers, body: body && stringifyJson(body) })
    const chunks: Uint8Array[] = []
    for await (const chunk of answer.body) chunks.push(chunk)
    return { status: answer.status, body: parseJson(Buffer.concat(chunks).toString()) }
  }
}

const classes = '/apis/scheduling.k8s.io/v1/priorityclasses'
const pod = { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }

/** A default class affects every pod of a cluster, so these are not conformance cases: those share a server. */
describe('the default priority class', () => {
  it('applies to pods that name no class', async () => {
    const call = open()
    await call('POST', classes, {
      metadata: { name: 'usual' },
      value: 7,
      globalDefault: true,
      preemptionPolicy: 'Never',
    })
    const { body } = await call('POST', '/api/v1/namespaces/default/pods', pod)
    expect(body).toMatchObject({ spec: { priorityClassName: 'usual', priority: 7, preemptionPolicy: 'Never' } })
  })

  it('is unique', async () => {
    const call = open()
    await call('POST', classes, { metadata: { name: 'usual' }, value: 7, globalDefault: true })
    const second = await call('POST', classes, { metadata: { name: 'other' }, value: 8, globalDefault: true })
    expect(second).toMatchObject({
      status: 403,
      body: {
        message:
          'priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
      },
    })
    const same = await call('PATCH', `${classes}/usual`, { description: 'still the default' })
    expect(same.status).toBe(200)
  })
})
