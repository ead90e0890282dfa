/**
 * The operators of the examples. Their files are compiled under rules of their own (examples/tsconfig.json), so they are
 * loaded and not imported.
 */
import { readFile } from 'node:fs/promises'
import type { JsonObject } from '../src/kube/json.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { readYaml, readYamlDocuments } from '../src/kube/yaml.ts'
import type { Operator } from '../src/operator/operator.ts'
import type { MakeOutside } from '../src/simulate/faults/run.ts'

const placeOf = (file: string): URL => new URL(`../examples/${file}`, import.meta.url)

async function load(name: string): Promise<Operator> {
  const place = placeOf(`${name}/operator.ts`).href
  const { operator } = (await import(/* @vite-ignore */ place)) as { readonly operator: Operator }
  return operator
}

/** What the simulator is given with an example. */
export interface Staging {
  readonly sample: readonly UntypedObject[]
  readonly outside: MakeOutside
  readonly scenes: Readonly<Record<string, readonly JsonObject[]>>
}

export async function databaseStaging(): Promise<Staging> {
  const { outside } = (await import(/* @vite-ignore */ placeOf('database/outside.ts').href)) as Pick<Staging, 'outside'>
  const [sample, scenes] = await Promise.all(
    ['sample', 'scenes'].map((name) => readFile(placeOf(`database/${name}.yaml`), 'utf8')),
  )
  return {
    sample: readYamlDocuments(sample!) as unknown as Staging['sample'],
    outside,
    scenes: readYaml(scenes!) as unknown as Staging['scenes'],
  }
}

export const memcached: Operator = await load('memcached')
export const database: Operator = await load('database')
