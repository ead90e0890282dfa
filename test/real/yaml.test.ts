/** What `writeYaml` writes must mean the same to a real API server as it means to us. */
import { afterAll, describe, expect, inject, it } from 'vitest'
import { type Json, type JsonObject, equalJson, stringifyJson } from '../../src/kube/json.ts'
import { writeYaml } from '../../src/kube/yaml/yaml.ts'
import { yamlValues } from '../vectors/cases/yaml.ts'
import { apiOf } from './api.ts'
import { createKind, mapInTurns } from './record/recorder.ts'

const api = apiOf(inject('cluster'))
afterAll(() => api.close())

describe('YAML written by Muster', () => {
  it('is parsed by the server to the original value', async () => {
    const group = 'writing.muster.test'
    const path = await createKind(api, {
      group,
      kind: 'Page',
      schema: { type: 'object', properties: { spec: { 'x-kubernetes-preserve-unknown-fields': true } } },
    })
    const misread = await mapInTurns(yamlValues, async (value): Promise<readonly string[]> => {
      const page = {
        apiVersion: `${group}/v1`,
        kind: 'Page',
        metadata: { name: 'page' },
        spec: { value, [keyOf(value)]: 1 },
      }
      const { status, body, message } = await api.call('POST', path('default'), {
        body: writeYaml(page),
        type: 'application/yaml',
        query: { dryRun: 'All', fieldValidation: 'Strict' },
      })
      const read = status === 201 ? (body as JsonObject)['spec'] : message
      return equalJson(read, page.spec) ? [] : [`${stringifyJson(page.spec)} was read as ${stringifyJson(read)}`]
    })
    expect(misread.flat()).toEqual([])
  })
})

/** The same text as a key: there, too, `yes` must not become `true`. */
function keyOf(value: Json): string {
  return typeof value === 'string' ? value : 'key'
}
