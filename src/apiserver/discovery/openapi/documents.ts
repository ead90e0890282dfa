/**
 * The list of a server's documents: the hash of what each is made from, and how to build it. Nothing is built here.
 */
import { hash } from 'node:crypto'
import type { JsonObject } from '../../../kube/json.ts'
import { formatApiVersion } from '../../../kube/kind.ts'
import type { ServedResource } from '../../catalog/catalog.ts'
import { documentOf } from './document.ts'
import { openApiSource, sourceDigest } from './source.ts'
import { documentV2 } from './v2.ts'
import { encodeDocument } from './v2-protobuf.ts'

/** Documents that do not depend on the served resources. */
const always = ['.well-known/openid-configuration', 'api', 'apis', 'openid/v1/jwks', 'version']

/** A document that has not been built yet. */
export interface LazyDocument {
  /** Changes whenever the document does. */
  readonly hash: string
  readonly json: () => Uint8Array
  /** The protobuf form: some clients accept no other. */
  readonly protobuf?: () => Uint8Array
}

/** The documents by their path below `/openapi/v3/`. */
export function documentsV3(served: readonly ServedResource[]): ReadonlyMap<string, LazyDocument> {
  const documents = new Map<string, LazyDocument>()
  for (const key of generalKeys(served)) {
    documents.set(key, { hash: hashOf(key), json: () => bytesOf(openApiSource().documents[key]) })
  }
  for (const [key, resources] of byVersion(served)) {
    const its = hashOf(key, ...resources.map(identityOf))
    documents.set(key, { hash: its, json: () => bytesOf(documentOf(resources, openApiSource())) })
  }
  return new Map([...documents].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function describedV2(served: readonly ServedResource[]): LazyDocument {
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

/** The paths of documents that are not about resources. */
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

/** Served resources are immutable, so each is hashed once. */
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
