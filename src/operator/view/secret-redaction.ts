/**
 * Redaction of Secret values. Authors read Secrets, and their errors and messages may repeat what they read; these end
 * up in conditions, Events, logs and traces, which more users may read than the Secret. So a view records the Secrets
 * that were read through it, and their values are redacted in everything that is reported of the run.
 */
import { type Hide, hidingValues } from '../../kube/text/hidden-text.ts'
import { isJsonObject } from '../../kube/json.ts'
import type { KubeObject, Named, UntypedObject } from '../../kube/object.ts'
import type { Resource } from '../../kube/kind.ts'
import type { ReadView, View, ViewSelection } from './view.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'

export function isSecret({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return kind === 'Secret' && apiVersion === 'v1'
}

/** All values of a Secret, encoded and in plain text. */
export function secretValues(secret: UntypedObject): readonly string[] {
  const held = (member: string): readonly string[] => {
    const values = secret[member]
    // An invalid Secret may have values that are no strings.
    return isJsonObject(values) ? Object.values(values).map(String) : []
  }
  const data = held('data')
  const plain = data.map((text) => Buffer.from(text, 'base64').toString())
  return [...data, ...plain, ...held('stringData')].filter((text) => text !== '')
}

/** The replacement of a redacted value. */
export const blackedOut = '***'

/** The Secrets that one run has read. */
export interface SecretReads {
  /** Records what was read; objects of other kinds are ignored. */
  note(this: void, resource: Resource, objects: readonly KubeObject[]): void
  /** Redacts the values of the Secrets that were read. Must come before truncation. */
  hide(this: void, text: string): string
  /** Their values with several lines. */
  ofSeveralLines(this: void): readonly string[]
}

export function recordSecrets(): SecretReads {
  // A list is kept by reference: thousands of Secrets cost one entry, and are read only when something failed.
  const seen = new Set<readonly KubeObject[]>()
  let hiding: { readonly size: number; readonly ofSeveralLines: readonly string[]; readonly hide: Hide } | undefined
  const known = (): NonNullable<typeof hiding> => {
    if (hiding?.size === seen.size) return hiding
    const values = [...seen].flatMap((objects) => objects.flatMap((object) => secretValues(object as UntypedObject)))
    const ofSeveralLines = values.filter((value) => value.includes('\n'))
    return (hiding = { size: seen.size, ofSeveralLines, hide: hidingValues(values, blackedOut) })
  }
  return {
    note(resource, objects) {
      if (resource.kind === 'Secret' && resource.group === '' && objects.length > 0) seen.add(objects)
    },
    hide: (text) => (seen.size === 0 ? text : known().hide(text)),
    ofSeveralLines: () => (seen.size === 0 ? [] : known().ofSeveralLines),
  }
}

/** The same view with a record of Secrets: for a view that is not opened by `openView`, as that of a guest. */
export function withSecretReads(view: View): ReadView {
  const secrets = recordSecrets()
  const noted = <T extends KubeObject>(
    resource: TypedResource<T>,
    objects: readonly Named<T>[],
  ): readonly Named<T>[] => {
    secrets.note(resource, objects)
    return objects
  }
  return {
    serves: (resource) => view.serves(resource),
    get: <T extends KubeObject>(resource: TypedResource<T>, name: Parameters<View['get']>[1]) => {
      const object = view.get(resource, name)
      return object && noted(resource, [object])[0]
    },
    list: <T extends KubeObject>(resource: TypedResource<T>, selection?: ViewSelection) =>
      noted(resource, view.list(resource, selection)),
    ownedBy: <T extends KubeObject>(resource: TypedResource<T>, owner: KubeObject) =>
      noted(resource, view.ownedBy(resource, owner)),
    secrets,
  }
}
