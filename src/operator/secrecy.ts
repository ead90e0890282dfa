/**
 * What Secrets hold stays with them. Authors read Secrets, and words that they throw or wait for may repeat what they read;
 * these words end in conditions, Events, logs and traces, which more people may read than the Secret. So a run remembers
 * which Secrets it saw, and blacks out what they hold in whatever is told of it.
 */
import { type Hide, hidingValues } from '../kube/hidden-text.ts'
import { isJsonObject } from '../kube/json.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { ViewSelection, View } from './view.ts'
import type { TypedResource } from './typed-resource.ts'

export function isSecret({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return kind === 'Secret' && apiVersion === 'v1'
}

/** Everything that a Secret holds, as it is written and in plain text. */
export function secretValues(secret: UntypedObject): readonly string[] {
  const held = (member: string): readonly string[] => {
    const values = secret[member]
    // What is wrong about a value may be that it is no text.
    return isJsonObject(values) ? Object.values(values).map(String) : []
  }
  const data = held('data')
  const plain = data.map((text) => Buffer.from(text, 'base64').toString())
  return [...data, ...plain, ...held('stringData')].filter((text) => text !== '')
}

/** What stands in messages for what a Secret holds. */
export const blackedOut = '***'

export interface WatchedSecrets {
  readonly view: View
  /** The text, without what the Secrets that were seen hold. To be cut afterwards, and not before. */
  hide(this: void, text: string): string
  /** What they hold that has several lines. */
  ofSeveralLines(this: void): readonly string[]
}

export function watchSecrets(view: View): WatchedSecrets {
  // By reference: a list of thousands costs one entry, and is gone through only when something went wrong.
  const seen = new Set<readonly KubeObject[]>()
  let hiding: { readonly size: number; readonly ofSeveralLines: readonly string[]; readonly hide: Hide } | undefined
  const known = (): NonNullable<typeof hiding> => {
    if (hiding?.size === seen.size) return hiding
    const values = [...seen].flatMap((objects) => objects.flatMap((object) => secretValues(object as UntypedObject)))
    const ofSeveralLines = values.filter((value) => value.includes('\n'))
    return (hiding = { size: seen.size, ofSeveralLines, hide: hidingValues(values, blackedOut) })
  }
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
      list: <T extends KubeObject>(resource: TypedResource<T>, selection?: ViewSelection) =>
        note(resource, view.list(resource, selection)),
      ownedBy: <T extends KubeObject>(resource: TypedResource<T>, owner: KubeObject) =>
        note(resource, view.ownedBy(resource, owner)),
    },
    hide: (text) => (seen.size === 0 ? text : known().hide(text)),
    ofSeveralLines: () => (seen.size === 0 ? [] : known().ofSeveralLines),
  }
}
