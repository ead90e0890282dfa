/**
 * The operators of the examples. Their files are compiled under rules of their own (examples/tsconfig.json), so they are
 * loaded and not imported.
 */
import type { Operator } from '../src/operator/operator.ts'

async function load(name: string): Promise<Operator> {
  const place = new URL(`../examples/${name}/operator.ts`, import.meta.url).href
  const { operator } = (await import(/* @vite-ignore */ place)) as { readonly operator: Operator }
  return operator
}

export const memcached: Operator = await load('memcached')
export const database: Operator = await load('database')
