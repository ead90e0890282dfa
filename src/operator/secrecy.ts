/**
 * What Secrets hold stays with them. Authors read Secrets, and words that they throw or wait for may repeat what they read;
 * these words end in conditions, Events, logs and traces, which more people may read than the Secret. So a run remembers
 * which Secrets it saw, and blacks out what they hold in whatever is told of it.
 */
import { isJsonObject } from '../kube/json.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { Selection, View } from './view.ts'
import type { TypedResource } from './typed-resource.ts'

export function isSecret({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return kind === 'Secret' && apiVersion === 'v1'
}

/** Everything that a Secret holds, as it is written and in plain text; `most` leaves out what is longer. */
export function secretValues(secret: UntypedObject, most: number = Infinity): readonly string[] {
  const held = (member: string): readonly string[] => {
    const values = secret[member]
    // What is wrong about a value may be that it is no text.
    return isJsonObject(values) ? Object.values(values).map(String) : []
  }
  // Four characters of base64 are three bytes, and a character is at most four of them.
  const data = held('data').filter((text) => (text.length / 4) * 3 <= 4 * most + 4)
  const plain = data.map((text) => Buffer.from(text, 'base64').toString())
  return [...data, ...plain, ...held('stringData')].filter((text) => text !== '' && text.length <= most)
}

export interface WatchedSecrets {
  readonly view: View
  /** The text, without what the Secrets that were seen hold. */
  hide(this: void, text: string): string
}

/** Shorter ones are in every other word: blacking them out would tell more than it hides. */
const leastLength = 4

export function watchSecrets(view: View): WatchedSecrets {
  // By reference: a list of thousands costs one entry, and is gone through only when something went wrong.
  const seen = new Set<readonly KubeObject[]>()
  const note = <T extends KubeObject>(resource: TypedResource<T>, objects: readonly T[]): readonly T[] => {
    if (resource.kind === 'Secret' && resource.group === '' && objects.length > 0) seen.add(objects)
    return objects
  }
  return {
    view: {
      ...view,
      get<T extends KubeObject>(resource: TypedResource<T>, name: Parameters<View['get']>[1]) {
        const object = view.get(resource, name)
        if (object) note(resource, [object])
        return object
      },
      list: <T extends KubeObject>(resource: TypedResource<T>, selection?: Selection) =>
        note(resource, view.list(resource, selection)),
      ownedBy: <T extends KubeObject>(resource: TypedResource<T>, owner: KubeObject) =>
        note(resource, view.ownedBy(resource, owner)),
    },
    hide(text) {
      if (seen.size === 0) return text
      let hidden = text
      for (const objects of seen) for (const object of objects) hidden = blackOut(hidden, object as UntypedObject)
      return hidden
    },
  }
}

function blackOut(text: string, secret: UntypedObject): string {
  // The longest first: one may be a part of another.
  const values = secretValues(secret, text.length)
    .flatMap((value) => [value, value.trim()])
    .filter((value) => value.length >= leastLength && text.includes(value))
    .toSorted((a, b) => b.length - a.length)
  return values.reduce((rest, value) => rest.replaceAll(value, '***'), text)
}
