/**
 * What a sequence deals with: a namespace, a few names, and changes of a kind's template. Every step is made of these.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../src/kube/json.ts'
import type { Chance } from './chance.ts'
import { type Edit, edited, placeOf, placesIn } from './edit.ts'
import { gone, type Edits, type Kind, type Step } from './step.ts'

export interface Scene {
  readonly chance: Chance
  readonly namespace: string
}

export const managers: readonly string[] = ['alpha', 'beta', 'gamma']
export const names: readonly string[] = ['a', 'b']

/** Strategic patches are for built-in kinds. */
export function isBuiltIn({ apiVersion }: Kind): boolean {
  return !apiVersion.includes('.') || apiVersion.includes('.k8s.io')
}

export function collectionOf({ namespace }: Scene, { apiVersion, plural, namespaced }: Kind): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return namespaced ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`
}

/** The names of cluster-scoped objects contain the namespace of the sequence, so that they differ. */
export function nameOf({ namespace }: Scene, { namespaced }: Kind, name: string): string {
  return namespaced ? name : `${namespace}-${name}`
}

export function pathOf(scene: Scene, kind: Kind, name: string = scene.chance.pick(names)): string {
  return `${collectionOf(scene, kind)}/${nameOf(scene, kind, name)}`
}

export function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function whole(scene: Scene, kind: Kind, name: string, edits: readonly Edit[]): JsonObject {
  const { apiVersion, kind: kindName, template } = kind
  const base: JsonObject = {
    apiVersion,
    kind: kindName,
    metadata: { name: nameOf(scene, kind, name), labels: { run: scene.namespace } },
    ...template,
  }
  return settled(
    scene,
    nameOf(scene, kind, name),
    edits.reduce((object, edit) => edited(object, edit), base as Json),
  ) as JsonObject
}

/** The template's words for what only the sequence knows. */
export function settled({ namespace }: Scene, name: string, value: Json): Json {
  return JSON.parse(JSON.stringify(value).replaceAll('{{namespace}}', namespace).replaceAll('{{name}}', name)) as Json
}

const metadataEdits: readonly Edits[] = [
  ['metadata/labels/tier', 'x', 'y', gone, 'not valid!', null],
  ['metadata/labels/a b', 'x'],
  ['metadata/annotations/note', 'one', 'two', gone, '', 5],
  ['metadata/annotations', {}, gone],
  ['metadata/finalizers', ['example.com/hold'], ['example.com/hold', 'example.com/more'], [], ['nodomain'], gone],
  ['metadata/generation', 7],
  ['metadata/creationTimestamp', null, '2020-01-01T00:00:00Z'],
  ['metadata/unknown', 'x'],
]

export function someEdits(
  { chance }: Scene,
  kind: Kind,
  from: readonly Edits[] = kind.edits,
  atMost = 3,
): readonly Edit[] {
  // What comes through another door than its own is put back, and better not be nonsense.
  const isWhole = from === kind.edits
  return Array.from({ length: 1 + chance.below(atMost) }, () => {
    const how = chance.weigh<'kind' | 'metadata' | 'hostile' | 'unknown'>([
      [70, 'kind'],
      [18, 'metadata'],
      [kind.isTouchy || !isWhole ? 0 : 6, 'hostile'],
      [isWhole ? 2 : 0, 'unknown'],
    ])
    const places = placesIn(kind.template)
    if (how === 'hostile' && places.length > 0) {
      return {
        place: chance.pick(places),
        value: chance.pick<Json>([null, '', 0, -1, true, 'text', [], {}, [null], gone, 1.5, [{}]]),
      }
    }
    if (how === 'unknown' && places.length > 0) {
      const place = chance.pick(places.filter((one) => one.length < 4))
      return { place: [...place.slice(0, -1), 'unknownField'], value: chance.pick<Json>(['x', { a: 1 }, null]) }
    }
    const [place, ...values] = chance.pick(how === 'metadata' || from.length === 0 ? metadataEdits : from)
    return { place: placeOf(place), value: chance.pick(values) }
  })
}

export function createStep(scene: Scene, kind: Kind, name: string, edits: readonly Edit[]): Step {
  return { method: 'POST', path: collectionOf(scene, kind), body: whole(scene, kind, name, edits) }
}

export function writeQuery({ chance }: Scene): Readonly<Record<string, string>> {
  return {
    ...(chance.once(2) && { fieldManager: chance.pick(managers) }),
    ...(chance.once(12) && { dryRun: 'All' }),
    ...(chance.once(6) && { fieldValidation: chance.pick(['Strict', 'Warn', 'Ignore', 'Strict', 'Odd']) }),
  }
}

export function patchOf(
  edits: readonly Edit[],
  base: JsonObject,
  make: (edit: Edit, base: JsonObject) => Json,
): JsonObject {
  return edits.reduce<JsonObject>((patch, edit) => overlaid(patch, make(edit, base) as JsonObject), {})
}

/** One patch over another, nulls kept. */
export function overlaid(under: JsonObject, over: JsonObject): JsonObject {
  const members = new Map(Object.entries(under))
  for (const [name, member] of Object.entries(over)) {
    const before = members.get(name)
    members.set(name, isJsonObject(before) && isJsonObject(member) ? overlaid(before, member) : member)
  }
  return Object.fromEntries(members)
}
