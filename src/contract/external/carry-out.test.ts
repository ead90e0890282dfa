import { describe, expect, it } from 'vitest'
import { configMap, configMaps, embedded } from '../../../test/embedded.ts'
import type { Json } from '../../kube/json.ts'
import type { RecordedMutation } from '../mutation.ts'
import type { ReadMutation } from '../output-reader.ts'
import { readOutputResources } from '../resource-list.ts'
import { carryOut, checkMutations, severalWrites } from './carry-out.ts'

const declared = readOutputResources(
  {
    configurationResources: {
      kindResources: [
        { group: '', version: 'v1', resource: 'configmaps' },
        { group: '', version: 'v1', resource: 'nodes' },
        { group: 'nowhere.io', version: 'v1', resource: 'things' },
      ],
    },
  },
  'test',
)

const write = (change: Partial<RecordedMutation>, content: Json | undefined, sequence: number): ReadMutation => ({
  folder: 'Configuration',
  mutation: {
    verb: 'Apply',
    type: { group: '', version: 'v1', resource: 'configmaps' },
    namespace: 'default',
    name: 'a',
    generateName: '',
    controller: 'c',
    body: '',
    options: {},
    ...change,
  },
  content,
  sequence,
  file: `file-${sequence}`,
})
const object = (name: string, data: Readonly<Record<string, string>> = {}): Json =>
  configMap(name, data) as unknown as Json

describe('carrying out what was recorded', () => {
  it('sends each in its order, and what fails keeps only its own object from going on', async () => {
    const { client } = embedded()
    const how = { declared, fieldManager: 'x', targetOf: () => ({ client, writer: client }) }
    const merge = { patchType: 'application/merge-patch+json' }
    const mutations = [
      write({ verb: 'Patch', ...merge }, { data: { k: 'patched' } }, 3),
      write({ verb: 'Apply', fieldManager: 'me', options: { force: true } }, object('a', { k: 'v' }), 1),
      write({ verb: 'Update', name: 'none' }, object('none'), 2),
      write({ verb: 'Delete', name: 'none' }, undefined, 4),
      write({ verb: 'Create', name: 'b' }, object('b'), 5),
      write(
        { verb: 'Delete', name: 'b' },
        { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
        6,
      ),
    ]
    const done = await carryOut(await checkMutations(mutations, how), how)
    expect(
      done.map(({ read, error }) => `${read.sequence} ${error === undefined ? 'done' : (error as Error).name}`),
    ).toEqual(['1 done', '2 NotFound', '3 done', '4 Conflict', '5 done', '6 done'])
    const { items } = await client.list(configMaps, { namespace: 'default' })
    expect(items).toMatchObject([{ metadata: { name: 'a' }, data: { k: 'patched' } }])
  })

  it.each<[string, ReadMutation, RegExp]>([
    [
      'a kind that does not fit its resource',
      write({}, { ...configMap('a', {}), kind: 'Secret' } as unknown as Json, 2),
      /holds a Secret/,
    ],
    [
      'a scope that does not fit',
      write({ type: { group: '', version: 'v1', resource: 'nodes' } }, object('a'), 2),
      /not in namespaces/,
    ],
    [
      'what nobody serves',
      write({ type: { group: 'nowhere.io', version: 'v1', resource: 'things' } }, object('a'), 2),
      /not served/,
    ],
    [
      'what is declared for another cluster',
      { ...write({}, object('a'), 2), folder: 'Management' },
      /not among its declared outputs for Management/,
    ],
    [
      'what others own',
      write({ type: { group: '', version: 'v1', resource: 'secrets' } }, object('a'), 2),
      /not among/,
    ],
  ])('sends nothing at all for %s', async (_, bad, why) => {
    const { client } = embedded()
    const how = { declared, targetOf: () => ({ client, writer: client }) }
    await expect(checkMutations([write({}, object('fine'), 1), bad], how)).rejects.toThrow(why)
  })

  it('tells of objects that are written more than once, other than by apply', () => {
    const twice = [
      write({ verb: 'Update' }, object('a'), 1),
      write({ verb: 'Update', controller: 'd' }, object('a'), 2),
    ]
    expect(severalWrites(twice)).toEqual(['Configuration configmaps. default/a: Update by c, Update by d'])
    expect(severalWrites([write({}, object('a'), 1), write({}, object('a'), 2)])).toEqual([])
  })
})
