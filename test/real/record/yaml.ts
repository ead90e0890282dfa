/** Posts YAML into a kind that keeps whatever it gets, and asks for it back as JSON; and the other way round. */
import { type Json, type JsonObject, parseJson, stringifyJson } from '../../../src/kube/json.ts'
import { type YamlOutputVector, type YamlVector, yamlCases, yamlValues } from '../../vectors/cases/yaml.ts'
import type { Answer, Api } from '../api.ts'
import { type Recorder, createKind, mapInTurns } from './recorder.ts'

const group = 'yaml.vectors.muster.test'

export const yamlRecorder: Recorder<YamlVector> = {
  set: 'yaml',
  async record(api) {
    const path = (await paperKind(api))('default')
    return await mapInTurns(yamlCases, async ({ name, yaml }): Promise<YamlVector> => {
      const post = (fieldValidation: string): Promise<Answer> =>
        api.call('POST', path, { body: yaml, type: 'application/yaml', query: { dryRun: 'All', fieldValidation } })
      const { status, body } = await post('Ignore')
      if (status !== 201) return { name, yaml }
      const value = (body as JsonObject)['spec'] ?? null
      return { name, yaml, value, ...((await post('Strict')).status === 201 ? {} : { careless: true }) }
    })
  },
}

export const yamlOutputRecorder: Recorder<YamlOutputVector> = {
  set: 'yaml-output',
  async record(api) {
    const path = (await paperKind(api))('default')
    return await mapInTurns(yamlValues, async (value): Promise<YamlOutputVector> => {
      const body = { apiVersion: `${group}/v1`, kind: 'Paper', metadata: { name: 'paper' }, spec: { value } }
      const { status, body: text } = await api.call('POST', path, {
        body,
        accept: 'application/yaml',
        query: { dryRun: 'All' },
      })
      if (status !== 201 || typeof text !== 'string') throw new Error(`${stringifyJson(value)}: ${stringifyJson(text)}`)
      // The value stands last, after apiVersion, kind and metadata: keys are sorted.
      const yaml = text.slice(text.indexOf('\nspec:\n') + 1)
      return { name: stringifyJson(value), value: parseJson(stringifyJson(value)), yaml }
    })
  },
}

let paths: Promise<(namespace: string) => string> | undefined

/** One kind serves both recorders, whichever comes first. */
function paperKind(api: Api): Promise<(namespace: string) => string> {
  paths ??= createKind(api, {
    group,
    kind: 'Paper',
    schema: { type: 'object', properties: { spec: { 'x-kubernetes-preserve-unknown-fields': true } } } satisfies Json,
  })
  return paths
}
