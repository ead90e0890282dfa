/**
 * The operators of the examples. Their files have their own compiler options (examples/tsconfig.json), so they are
 * loaded dynamically.
 */
import { readFile } from 'node:fs/promises'
import type { JsonObject } from '../src/kube/json.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { readYaml, readYamlDocuments } from '../src/kube/yaml/yaml.ts'
import type { Operator } from '../src/operator/operator.ts'
import type { MakeOutside } from '../src/simulate/faults/run.ts'

const placeOf = (file: string): URL => new URL(`../examples/${file}`, import.meta.url)

async function load(name: string): Promise<Operator> {
  const place = placeOf(`${name}/operator.ts`).href
  const { operator } = (await import(/* @vite-ignore */ place)) as { readonly operator: Operator }
  return operator
}

/** The inputs of the simulator for an example. */
export interface Staging {
  readonly sample: readonly UntypedObject[]
  readonly outside: MakeOutside
  readonly scenarios: Readonly<Record<string, readonly JsonObject[]>>
}

export async function databaseStaging(): Promise<Staging> {
  const { outside } = (await import(/* @vite-ignore */ placeOf('database/outside.ts').href)) as Pick<Staging, 'outside'>
  const [sample, scenarios] = await Promise.all(
    ['sample', 'scenarios'].map((name) => readFile(placeOf(`database/${name}.yaml`), 'utf8')),
  )
  return {
    sample: readYamlDocuments(sample!) as unknown as Staging['sample'],
    outside,
    scenarios: readYaml(scenarios!) as unknown as Staging['scenarios'],
  }
}

export const memcached: Operator = await load('memcached')
export const database: Operator = await load('database')
