/**
 * The documents of a server: what each is made from, known by a hash, and how it is built. Nothing is built here.
 */
import { hash } from 'node:crypto'
import type { JsonObject } from '../../../kube/json.ts'
import { formatApiVersion } from '../../../kube/kind.ts'
import type { ServedResource } from '../../catalog/catalog.ts'
import { documentOf } from './document.ts'
import { openApiSource, sourceDigest } from './source.ts'
import { documentV2 } from './v2.ts'
import { encodeDocument } from './v2-protobuf.ts'

/** Documents that a server has whatever it serves. */
const always = ['.well-known/openid-configuration', 'api', 'apis', 'openid/v1/jwks', 'version']

/** A document by what it is made from. */
export interface Described {
  /** Changes when the document does. */
  readonly hash: string
  readonly json: () => Uint8Array
  /** The form that some clients ask for and nothing else. */
  readonly protobuf?: () => Uint8Array
}

/** By what follows `/openapi/v3/`. */
export function documentsV3(served: readonly ServedResource[]): ReadonlyMap<string, Described> {
  const documents = new Map<string, Described>()
  for (const key of generalKeys(served)) {
    documents.set(key, { hash: hashOf(key), json: () => bytesOf(openApiSource().documents[key]) })
  }
  for (const [key, resources] of byVersion(served)) {
    const its = hashOf(key, ...resources.map(identityOf))
    documents.set(key, { hash: its, json: () => bytesOf(documentOf(resources, openApiSource())) })
  }
  return new Map([...documents].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function describedV2(served: readonly ServedResource[]): Described {
  const versions = [...byVersion(served).values()]
  const build = (): JsonObject => documentV2(generalKeys(served), versions, openApiSource())
  return {
    hash: hashOf('v2', ...served.map(identityOf)),
    json: () => bytesOf(build()),
    protobuf: () => encodeDocument(build()),
  }
}

function bytesOf(document: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(document))
}

/** The documents about no resource. */
function generalKeys(served: readonly ServedResource[]): readonly string[] {
  const groups = served.filter(({ group, custom }) => !custom && group !== '').map(({ group }) => `apis/${group}`)
  return [...always, ...new Set(groups)]
}

function byVersion(served: readonly ServedResource[]): ReadonlyMap<string, readonly ServedResource[]> {
  return Map.groupBy(served, ({ group, version }) => (group === '' ? `api/${version}` : `apis/${group}/${version}`))
}

function hashOf(...parts: readonly string[]): string {
  return hash('sha512', [sourceDigest(), ...parts].join('\n')).toUpperCase()
}

/** A resource is what it is until it is replaced, so what it adds to a document is read once. */
const identities = new WeakMap<ServedResource, string>()

function identityOf(served: ServedResource): string {
  const known = identities.get(served)
  if (known !== undefined) return known
  const { plural, kind, listKind, namespaced, verbs, subresources, selectable, custom, schema } = served
  const subs = subresources.map(({ name, verbs: own }) => [name, own])
  const own = custom ? (schema ?? null) : null
  const all = [formatApiVersion(served), plural, kind, listKind, namespaced, verbs, subs, selectable, own]
  const identity = hash('sha512', JSON.stringify(all))
  identities.set(served, identity)
  return identity
}
