/**
 * Siblings: the object that a new one is likely to resemble.
 *
 * What a controller creates in numbers it names alike: `web-7d4f9-x2k8p`, `web-0`. So the latest object of the same
 * namespace whose name differs only behind the last dash is the best guide to one that has never been seen.
 */
import type { KubeObject } from '../kube/object.ts'

export interface DecodeHints {
  /** Of the same family if one is known, or else the latest object of all. */
  find(namespace: string | undefined, name: string): KubeObject | undefined
  note(object: KubeObject): void
}

/** Families remembered; beyond, the one that was noted first goes. */
const limit = 1024

export function createDecodeHints(): DecodeHints {
  const families = new Map<string, KubeObject>()
  let latest: KubeObject | undefined
  return {
    find: (namespace, name) => families.get(family(namespace, name)) ?? latest,
    note(object) {
      latest = object
      const { namespace, name } = (object.metadata as KubeObject['metadata'] | null | undefined) ?? {}
      if (typeof name !== 'string') return
      families.set(family(namespace, name), object)
      if (families.size > limit) families.delete(families.keys().next().value!)
    },
  }
}

function family(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name.slice(0, name.lastIndexOf('-') + 1)}`
}
