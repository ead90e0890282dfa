/**
 * A Revision: what was rendered once, immutable. It names its objects; their content is in Secrets beside it, compressed and in
 * chunks, since rendered objects contain Secrets and may be larger than one object can be.
 */
import { hash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { canonicalJson } from '../../kube/apply/canonical.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import type { Named, UntypedObject } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { Secret } from '../../kube/types/core/v1.ts'
import { fail } from '../../operator/failure.ts'
import type { GeneratedValues } from '../../render/generated/generated-values.ts'
import { boolean, integer, list, object, optional, string } from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'

export interface RevisionObject extends Named {
  readonly spec: {
    readonly installation: string
    readonly number: number
    readonly name?: string
    readonly version?: string
    readonly digest: string
    /** It was rendered to replace another revision. */
    readonly isUpgrade?: boolean
    readonly chunks: number
    readonly phases: readonly {
      readonly name: string
      readonly objects: readonly {
        readonly apiVersion: string
        readonly kind: string
        readonly name: string
        readonly namespace?: string
      }[]
    }[]
  }
}

interface RevisionKind extends TypedResource<RevisionObject>, Pick<Kind, 'definition' | 'crd'> {}

export const Revision: RevisionKind = defineKind({
  group: 'platform.muster.dev',
  version: 'v1alpha1',
  kind: 'Revision',
  categories: ['muster'],
  description: 'What an Installation rendered once. Immutable.',
  spec: {
    installation: string({ maxLength: 253 }),
    number: integer({ minimum: 1 }),
    name: optional(string({ description: 'the name of the chart' })),
    version: optional(string()),
    digest: string({ description: 'of the content' }),
    isUpgrade: optional(boolean({ description: 'it was rendered to replace another revision' })),
    chunks: integer({ minimum: 1, description: 'the number of Secrets with the content, named NAME.0 and so on' }),
    phases: list(
      object({
        name: string(),
        objects: list(object({ apiVersion: string(), kind: string(), name: string(), namespace: optional(string()) })),
      }),
    ),
  },
  rules: [{ rule: 'self.spec == oldSelf.spec', message: 'a Revision is immutable' }],
  columns: [
    { name: 'Installation', type: 'string', jsonPath: '.spec.installation' },
    { name: 'Number', type: 'integer', jsonPath: '.spec.number' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export interface RevisionItem {
  readonly object: UntypedObject
  /** A file of the chart's crds/ folder. */
  readonly isCrdFile?: boolean
}

export interface RevisionContent {
  /** The name of the chart. */
  readonly name?: string
  readonly version?: string
  readonly items: readonly RevisionItem[]
  readonly notes: string
  /** The values that the chart made up, should their Secrets be lost. */
  readonly generated?: GeneratedValues
}

/** Of the objects: equal objects are the same revision, whatever their source is called. */
export function contentDigest({ items }: RevisionContent): string {
  return `sha256:${hash('sha256', canonicalJson(plainJson(items)))}`
}

/** A Secret holds at most 1 MiB, in base64. */
const chunkBytes = 700_000
/** The longest decompressed content: a bomb in a Secret must not take the process. */
const mostBytes = 64 * 1024 * 1024

export function chunksOf(content: RevisionContent): readonly string[] {
  const packed = gzipSync(stringifyJson(plainJson(content)), { level: 6 })
  const count = Math.max(1, Math.ceil(packed.length / chunkBytes))
  return Array.from({ length: count }, (_, at) =>
    packed.subarray(at * chunkBytes, (at + 1) * chunkBytes).toString('base64'),
  )
}

/** Rendered objects consist of JSON; undefined members are left out. */
function plainJson(value: unknown): Json {
  return value as Json
}

export function chunkName(revision: string, index: number): string {
  return `${revision}.${index}`
}

/** @throws MissingContent, InvalidContent, which only a new revision cures */
export function contentOf(
  { metadata: { name } }: RevisionObject,
  secrets: readonly (Secret | undefined)[],
): RevisionContent {
  const chunks = secrets.map((secret) => secret?.data?.['content'])
  const missing = chunks.indexOf(undefined)
  if (missing >= 0) {
    const lost = `Secret ${chunkName(name, missing)} with the content of Revision ${name} is missing.`
    fail('MissingContent', `${lost} Restore it, or change the source or the values: a new revision takes its place.`)
  }
  try {
    const packed = Buffer.concat(chunks.map((chunk) => Buffer.from(chunk!, 'base64')))
    return parseJson(gunzipSync(packed, { maxOutputLength: mostBytes }).toString('utf8')) as unknown as RevisionContent
  } catch (error) {
    return fail('InvalidContent', `The content of Revision ${name} cannot be read.`, error)
  }
}
