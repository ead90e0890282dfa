/**
 * Decode hints: the known object that a new one most likely resembles.
 *
 * Objects that one controller creates have similar names: `web-7d4f9-x2k8p`, `web-0`. So the latest object of the same
 * namespace whose name differs only after the last dash is the best base for decoding an object that is not stored yet.
 */
import type { KubeObject } from '../../kube/object.ts'

export interface DecodeHints {
  /** The latest object of the same family (namespace, and name up to the last dash), or else the latest of all. */
  find(namespace: string | undefined, name: string): KubeObject | undefined
  note(object: KubeObject): void
}

/** Families remembered; beyond, the oldest is dropped. */
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
