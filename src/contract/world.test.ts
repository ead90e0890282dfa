import { describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import { memcached as operator } from '../../test/examples.ts'
import type { UntypedObject } from '../kube/object.ts'
import { readInputs } from './input-directory.ts'
import { outputFiles } from './output-directory.ts'
import { openWorld, type World } from './world.ts'

const input = fileURLToPath(new URL('../../examples/memcached/tests/creates/input-dir', import.meta.url))

const read = async (): Promise<readonly UntypedObject[]> => await readInputs(input, operator, { strict: true })
const open = async (objects: readonly UntypedObject[], seed = 1): Promise<World> =>
  await openWorld({ operator, objects, seed })
const written = async (world: World): Promise<ReadonlyMap<string, string>> => outputFiles(await world.run())

/** What the server has of everything that the operator reads or writes, versions and owners included. */
const left = async ({ client }: World): Promise<unknown> =>
  await Promise.all([...operator.inputs, ...operator.outputs].map((resource) => client.list(resource)))

function larger(object: UntypedObject): UntypedObject {
  return object.kind === 'Memcached' ? { ...object, spec: { size: 7 } } : object
}

describe('worlds of one process', () => {
  it('are the same whatever was in others before', async () => {
    const first = await open(await read())
    const [files, objects] = [await written(first), await left(first)]

    // The same names, and nothing else of it.
    const between = await open((await read()).map(larger), 2)
    expect(await written(between)).not.toEqual(files)

    const last = await open(await read())
    expect(await written(last)).toEqual(files)
    expect(await left(last)).toEqual(objects)
  })

  it('do not see what is written in others', async () => {
    const [one, two] = [await open(await read()), await open(await read())]
    await one.run()
    const deployments = operator.outputs.find(({ kind }) => kind === 'Deployment')!
    expect((await one.client.list(deployments)).items).toHaveLength(1)
    expect((await two.client.list(deployments)).items).toEqual([])
    // Nor does a second run find what the first has made of the inputs that they share.
    const shared = await read()
    const [third, fourth] = [await open(shared), await open(shared)]
    expect(await written(third)).toEqual(await written(fourth))
  })
})
