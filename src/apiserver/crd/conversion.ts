/**
 * Conversion of custom objects between the versions of their kind. Most kinds only change the apiVersion (strategy
 * None); others call a webhook. Either way the result is pruned by the schema of its version.
 *
 * Objects are stored as they were written and read with the current schema: a field that the schema no longer has is
 * pruned, and a default that the schema has since gained is set. Each stored object is processed once.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { StructuralSchema } from '../../kube/structural/structural.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { internal } from '../errors/status-error.ts'
import type { ConvertStored } from '../catalog/versions.ts'
import { type WebhookCaller, WebhookError } from '../webhook/webhook-caller.ts'

export interface ConversionContext {
  readonly webhooks: WebhookCaller
  readonly ids: () => string
}

/** By apiVersion. */
export type ConversionSchemas = ReadonlyMap<string, StructuralSchema>

export function conversionOf(
  crd: CustomResourceDefinition,
  schemas: ConversionSchemas,
  context: ConversionContext,
): ConvertStored {
  const read = reader(schemas)
  const pruned = reader(schemas, false)
  const { conversion } = crd.spec
  if (conversion?.strategy !== 'Webhook') {
    return (objects, apiVersion) => objects.map((object) => pruned(renamed(read(object), apiVersion)))
  }
  const convert = webhookConversion(crd, context)
  return (objects, apiVersion) => {
    const current = objects.map(read)
    const others = current.filter((object) => object.apiVersion !== apiVersion)
    if (others.length === 0) return current
    return convert(others, apiVersion).then((converted) => {
      const rest = converted.values()
      return current.map((object) => (object.apiVersion === apiVersion ? object : pruned(rest.next().value!)))
    })
  }
}

function renamed(object: UntypedObject, apiVersion: string): UntypedObject {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion }
}

/** An object as the schema of its own version reads it: pruned and defaulted. */
function reader(schemas: ConversionSchemas, hasDefaults = true): (object: UntypedObject) => UntypedObject {
  const known = new WeakMap<UntypedObject, UntypedObject>()
  return (object) => {
    const schema = schemas.get(object.apiVersion)
    if (!schema) return object
    const before = known.get(object)
    if (before) return before
    const pruned = schema.prune(object as unknown as JsonObject).object
    const result = (hasDefaults ? schema.applyDefaults(pruned) : pruned) as unknown as UntypedObject
    known.set(object, result)
    // The result is often read again: reading it a second time changes nothing.
    known.set(result, result)
    return result
  }
}

const timeoutMs = 30_000

type Ask = (objects: readonly UntypedObject[], apiVersion: string) => Promise<readonly UntypedObject[]>

function webhookConversion({ spec }: CustomResourceDefinition, { webhooks, ids }: ConversionContext): Ask {
  const { clientConfig = {}, conversionReviewVersions = [] } = spec.conversion?.webhook ?? {}
  const version = conversionReviewVersions.find((one) => one === 'v1' || one === 'v1beta1')
  return async (objects, apiVersion) => {
    const kind = `${objects[0]!.apiVersion}, Kind=${spec.names.kind}`
    const fail = (why: string): Error => internal(`conversion webhook for ${kind} failed: ${why}`)
    if (version === undefined) throw fail('no supported conversion review versions')
    const uid = ids()
    const review = {
      kind: 'ConversionReview',
      apiVersion: `apiextensions.k8s.io/${version}`,
      request: { uid, desiredAPIVersion: apiVersion, objects: objects as unknown as Json },
      response: { uid: '', convertedObjects: null, result: { metadata: {} } },
    }
    let answer: Json
    try {
      answer = await webhooks(clientConfig, review, timeoutMs)
    } catch (error) {
      if (error instanceof WebhookError) throw fail(error.message)
      throw error
    }
    const converted = convertedObjects(answer, version === 'v1' ? uid : undefined, fail)
    if (converted.length !== objects.length) {
      throw internal(`conversion webhook for ${kind} returned ${converted.length} objects, expected ${objects.length}`)
    }
    return converted.map((object, index) => {
      const wrong = (why: string): Error =>
        internal(
          objects.length === 1
            ? `conversion webhook for ${kind} returned invalid object${why.startsWith('invalid ') ? ' at index 0' : ''}: ${why}`
            : `conversion webhook for ${kind} returned invalid converted object at index ${index}: ${why}`,
        )
      return accepted(objects[index]!, object, apiVersion, wrong)
    })
  }
}

function convertedObjects(answer: Json, uid: string | undefined, fail: (why: string) => Error): readonly Json[] {
  const { response, apiVersion, kind } = isJsonObject(answer) ? answer : {}
  if (uid !== undefined && (apiVersion !== 'apiextensions.k8s.io/v1' || kind !== 'ConversionReview')) {
    const got = `${typeof apiVersion === 'string' ? apiVersion : ''}, Kind=${typeof kind === 'string' ? kind : ''}`
    throw fail(`expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got ${got}`)
  }
  if (!isJsonObject(response)) throw fail('no response provided')
  if (uid !== undefined && response['uid'] !== uid) {
    throw fail(`expected response.uid="${uid}", got ${JSON.stringify(response['uid'] ?? '')}`)
  }
  const { status, message } = isJsonObject(response['result']) ? response['result'] : {}
  if (status !== 'Success') {
    if (typeof message === 'string' && message !== '') throw fail(message)
    throw fail(`response.result.status was '${typeof status === 'string' ? status : ''}', not 'Success'`)
  }
  const { convertedObjects: converted } = response
  return Array.isArray(converted) ? (converted as readonly Json[]) : []
}

/**
 * The converted object, if it is still the same one: a webhook may change labels and annotations, but no other
 * metadata.
 */
function accepted(
  original: UntypedObject,
  converted: Json,
  apiVersion: string,
  wrong: (why: string) => Error,
): UntypedObject {
  if (!isJsonObject(converted)) throw wrong('it is no object')
  const got = converted as unknown as UntypedObject
  if (got.apiVersion !== apiVersion) {
    throw wrong(`invalid groupVersion (expected ${apiVersion}, received ${got.apiVersion ?? ''})`)
  }
  if (got.kind !== original.kind) throw wrong(`invalid kind (expected ${original.kind}, received ${got.kind ?? ''})`)
  for (const [member, label] of identity) {
    const [before, after] = [original.metadata[member] ?? '', got.metadata?.[member] ?? '']
    if (before !== after) throw wrong(`must have the same ${label}: ${before} != ${after}`)
  }
  const { labels: _labels, annotations: _annotations, ...metadata } = original.metadata
  const { labels, annotations } = got.metadata
  return {
    ...got,
    metadata: { ...metadata, ...(labels && { labels }), ...(annotations && { annotations }) },
  }
}

const identity = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const
