/**
 * Live objects that a chart looks up (`lookup`), read once for each source, values and version, and recorded in a Secret,
 * `NAME-lookups.0` and so on. So a render stays a function of its input: a restart renders the same, and an object that the
 * chart itself has created does not change what it was created from. The Secrets are immutable, so that a process whose cache
 * is behind cannot replace what was read: the API server refuses it.
 */
import { hash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { canonicalJson } from '../../kube/apply/canonical.ts'
import { type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { Secret } from '../../kube/kinds.ts'
import { parseApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { HeldObjects } from '../../operator/embedded/held-objects.ts'
import { fail, failureOf, isAuthFailure, tryLater } from '../../operator/failure.ts'
import type { ObjectName, View } from '../../operator/view/view.ts'
import type { LookupAnswer, LookupQuestion } from '../../render/generated/lookups.ts'
import type { InstallationObject } from './installation.ts'
import type { RenderedSource, SourceRequest } from './render-source.ts'
import { metadataAt } from './stored-revisions.ts'

/** What a chart looked up. */
interface RecordedLookups {
  /** A digest of what was rendered with them. */
  readonly input: string
  /** The version of the chart. */
  readonly version?: string
  /** How often the chart asked for more. */
  readonly rounds: number
  readonly answers: readonly LookupAnswer[]
}

/** Reads live objects. */
export type LookupReader = Pick<HeldObjects, 'resourceOf' | 'read' | 'page'>

const lookupsType = 'platform.muster.dev/lookups'
const mostStored = 5
/** An object that is looked up may depend on one that was looked up before. */
const mostRounds = 10
const mostAnswers = 100
/** Of a list. */
const mostItems = 500
/** Of all answers, as JSON: they are kept in one Secret. */
const mostBytes = 512 * 1024

/**
 * Changes with what asks for another look at the cluster: the source, the values, the account that reads. Not with generated
 * values and credentials.
 */
function lookupInput(
  { spec }: InstallationObject,
  { source, files = {}, releaseName, namespace, values, requestedAt = '' }: SourceRequest,
): string {
  const account = spec.serviceAccountName ?? ''
  const input = asJson({ source, files, releaseName, namespace, values, requestedAt, account })
  return hash('sha256', canonicalJson(input))
}

interface StoredLookups {
  readonly index: number
  readonly secret: Secret
  readonly recorded: RecordedLookups | undefined
}

function storedIn(cr: InstallationObject, view: View): readonly StoredLookups[] {
  const prefix = `${cr.metadata.name}-lookups.`
  return view
    .ownedBy(Secret, cr)
    .filter(({ type, metadata }) => type === lookupsType && metadata.name.startsWith(prefix))
    .map((secret) => ({
      index: Number.parseInt(secret.metadata.name.slice(prefix.length), 10),
      secret,
      recorded: unpacked(secret.data?.['lookups'] ?? ''),
    }))
    .toSorted((a, b) => a.index - b.index)
}

/** The Secrets as they are. The latest one counts; a few older ones stay, so that no process uses their numbers again. */
export function storedLookups(cr: InstallationObject, view: View): readonly UntypedObject[] {
  return storedIn(cr, view)
    .slice(-mostStored)
    .map(({ secret }) => unchanged(secret))
}

function unchanged(secret: Secret): UntypedObject {
  return asObject({
    ...asJson(secret),
    metadata: asJson(metadataAt(secret.metadata.name, secret.metadata.namespace)),
  })
}

function indexAfter(stored: readonly StoredLookups[]): number {
  return (stored.at(-1)?.index ?? -1) + 1
}

function newSecret(cr: InstallationObject, index: number, recorded: RecordedLookups): UntypedObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataAt(`${cr.metadata.name}-lookups.${index}`, cr.metadata.namespace),
    type: lookupsType,
    immutable: true,
    data: { lookups: packed(recorded) },
  }
}

function packed(recorded: RecordedLookups): string {
  return gzipSync(stringifyJson(recorded), { level: 6 }).toString('base64')
}

function unpacked(text: string): RecordedLookups | undefined {
  try {
    const json = gunzipSync(Buffer.from(text, 'base64'), { maxOutputLength: 2 * mostBytes }).toString('utf8')
    return parseJson(json) as unknown as RecordedLookups
  } catch {
    // Damaged: they are read again.
    return undefined
  }
}

interface RenderedWithLookups {
  readonly rendered: RenderedSource
  readonly hasLookups: boolean
  /** To be stored before the source is rendered again. Nothing, if the cache has got another record meanwhile. */
  readonly added?: () => readonly UntypedObject[]
}

interface Looking {
  readonly cr: InstallationObject
  readonly view: View
  readonly reader: LookupReader | undefined
  readonly as: ObjectName | undefined
  readonly render: (request: SourceRequest) => Promise<RenderedSource>
  /** Otherwise it is rendered with what was read at once. @default true */
  readonly isRecording?: boolean
}

/** @throws LookupFailed, TooManyLookups, LookupTooLarge, and the errors of the render */
export async function renderWithLookups(request: SourceRequest, looking: Looking): Promise<RenderedWithLookups> {
  const { cr, view, reader, as, render, isRecording = true } = looking
  const input = lookupInput(cr, request)
  const stored = storedIn(cr, view)
  const nextIndex = indexAfter(stored)
  const latest = stored.at(-1)?.recorded
  let lookups = latest?.input === input ? latest : undefined
  let rendered = await render({ ...request, lookups: lookups?.answers ?? [] })
  // A range of versions led to another chart: an upgrade, which looks anew.
  if (lookups && lookups.version !== rendered.version) {
    lookups = undefined
    rendered = await render({ ...request, lookups: [] })
  }
  while (rendered.asked.length > 0) {
    const { version } = rendered
    const rounds = (lookups?.rounds ?? 0) + 1
    const answers = await moreAnswers(lookups?.answers ?? [], rendered.asked, rounds, reader, as)
    lookups = { input, ...(version !== undefined && { version }), rounds, answers }
    const added = newSecret(cr, nextIndex, lookups)
    if (isRecording)
      return { rendered, hasLookups: true, added: () => (indexAfter(storedIn(cr, view)) === nextIndex ? [added] : []) }
    rendered = await render({ ...request, lookups: answers })
  }
  return { rendered, hasLookups: lookups !== undefined }
}

/** @throws LookupFailed, TooManyLookups, LookupTooLarge */
async function moreAnswers(
  known: readonly LookupAnswer[],
  asked: readonly LookupQuestion[],
  rounds: number,
  reader: LookupReader | undefined,
  as: ObjectName | undefined,
): Promise<readonly LookupAnswer[]> {
  if (rounds > mostRounds || known.length + asked.length > mostAnswers) {
    fail(
      'TooManyLookups',
      `The chart looks up more than ${mostAnswers} objects, or objects that depend on each other more than ${mostRounds} times ` +
        `(${described(asked[0]!)} is the next one). Pass what it needs as values.`,
    )
  }
  const answers = [...known]
  for (const question of asked) answers.push({ ...question, found: reader ? await answer(question, reader, as) : null })
  const bytes = Buffer.byteLength(stringifyJson(answers))
  if (bytes > mostBytes) {
    fail(
      'LookupTooLarge',
      `The objects that the chart looks up take ${bytes} bytes; ${mostBytes} are allowed. Pass what it needs as values.`,
    )
  }
  return answers
}

async function answer(
  question: LookupQuestion,
  reader: LookupReader,
  as: ObjectName | undefined,
): Promise<LookupAnswer['found']> {
  try {
    return await found(question, reader, as)
  } catch (error) {
    const { message, reason } = failureOf(error, '', '')
    if (reason === 'LookupTooLarge') throw error
    const cure = isAuthFailure(reason)
      ? ' Grant this right to the account, or pass what the chart needs as values.'
      : ''
    return tryLater('LookupFailed', `${described(question)} of the chart failed: ${message}${cure}`, { cause: error })
  }
}

async function found(
  question: LookupQuestion,
  reader: LookupReader,
  as: ObjectName | undefined,
): Promise<LookupAnswer['found']> {
  const { apiVersion, kind, namespace, name } = question
  const resource = await reader.resourceOf({ ...parseApiVersion(apiVersion), kind })
  if (!resource || (resource.namespaced && namespace === '' && name !== '')) return null
  const place = resource.namespaced && namespace !== '' ? { namespace } : {}
  if (name !== '') {
    const object = await reader.read(resource, { name, ...place }, { as })
    return object ? withoutManagers(object) : null
  }
  const { items, next } = await reader.page(resource, { ...place, limit: mostItems, as })
  if (next !== undefined) {
    fail(
      'LookupTooLarge',
      `${described(question)} of the chart finds more than ${mostItems} objects. Pass what it needs as values.`,
    )
  }
  return { apiVersion, kind: `${kind}List`, metadata: {}, items: items.map(withoutManagers) }
}

/** Most of an object's bytes, and of no use to a template. */
function withoutManagers(object: UntypedObject): JsonObject {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...asJson(object), metadata: asJson(metadata) }
}

function described({ apiVersion, kind, namespace, name }: LookupQuestion): string {
  return `lookup ${[apiVersion, kind, namespace, name].map((text) => JSON.stringify(text)).join(' ')}`
}
