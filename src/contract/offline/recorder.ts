/**
 * A transport that records writes. Reads pass through; a write is recorded as a mutation and then sent to the embedded
 * API server behind: so invalid writes fail at once, and the writer gets a real answer. Undeclared writes are recorded,
 * too, and rejected.
 */
import { attributesOf } from '../../apiserver/access/request-attributes.ts'
import { parseTarget } from '../../apiserver/access/request-target.ts'
import { bodyOf } from '../../client/body.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { writeGoYaml } from '../text/go-yaml.ts'
import type { RecordedMutation, Verb } from '../declaration/mutation.ts'
import { scalarText } from '../text/scalar-text.ts'

interface RecorderOptions {
  readonly transport: Transport
  /** The controller that writes. */
  readonly controller: string
  /** False rejects the write. Called once for each, in order. */
  readonly record: (mutation: RecordedMutation, body: Json | undefined) => boolean
  /** Called before a write to a namespace. */
  readonly prepare?: (namespace: string) => Promise<void>
}

export function recording({ transport, controller, record, prepare }: RecorderOptions): Transport {
  return {
    ...transport,
    async send(request) {
      if (request.method === 'GET') return await transport.send(request)
      const { mutation, body } = recordedMutationOf(request, controller)
      if (!record(mutation, body)) return answer(403, forbidden(mutation))
      // Events are not recorded: an offline run has no reader for them.
      if (isEvent(mutation)) return answer(201, body ?? {})
      if (mutation.namespace !== undefined) await prepare?.(mutation.namespace)
      return await transport.send(request)
    },
  }
}

const verbs: Readonly<Record<string, Verb>> = { POST: 'Create', PUT: 'Update', DELETE: 'Delete', PATCH: 'Patch' }
const applyType = 'application/apply-patch+yaml'
const usualDeletion: JsonObject = { apiVersion: 'v1', kind: 'DeleteOptions' }

/** A request as a mutation, with its parsed body. */
export function recordedMutationOf(
  request: TransportRequest,
  controller: string,
): { readonly mutation: RecordedMutation; readonly body: Json | undefined } {
  const target = parseTarget(request.path)
  const parameters = target?.query ?? new URLSearchParams()
  // Declarations apply to the cluster at `/` only.
  const asked = target?.cluster === '' ? attributesOf(request.method, target) : {}
  const {
    group = '',
    version = '',
    resource = '',
    subresource,
    name = '',
    namespace,
  } = asked as typeof asked & {
    readonly [member in 'group' | 'version' | 'resource' | 'subresource' | 'name' | 'namespace']?: string | undefined
  }
  const contentType = String(request.headers['content-type'] ?? '').split(';')[0]!
  const verb = contentType === applyType ? 'Apply' : verbs[request.method]!
  const text = textOf(request.body)
  // A delete without a body has default options; upstream tools read no empty file.
  const body = text !== '' ? parseJson(text) : verb === 'Delete' ? usualDeletion : undefined
  const metadata = isJsonObject(body) && isJsonObject(body['metadata']) ? body['metadata'] : {}
  const isNew = verb === 'Create' && subresource === undefined
  const told = isNew ? scalarText(metadata['name']) : name
  const isRaw =
    contentType === 'application/merge-patch+json' || contentType === 'application/strategic-merge-patch+json'
  const options = optionsIn(parameters, verb)
  let written: string | undefined
  const isNamespace = group === '' && resource === 'namespaces'
  return {
    body,
    mutation: {
      verb,
      ...(subresource !== undefined && { subresource }),
      type: { group, version, resource },
      // The path of a Namespace names itself as its namespace.
      ...(namespace !== undefined && !isNamespace && { namespace }),
      name: told,
      generateName: verb === 'Patch' || verb === 'Delete' ? '' : scalarText(metadata['generateName']),
      controller,
      ...((verb === 'Apply' || verb === 'Patch') && typeof options['fieldManager'] === 'string'
        ? { fieldManager: options['fieldManager'] }
        : {}),
      ...(verb === 'Patch' && { patchType: contentType }),
      // Lazy: not every consumer needs the text.
      get body() {
        return (written ??= isRaw || body === undefined ? text : writeGoYaml(body))
      },
      options,
    },
  }
}

function textOf(body: TransportRequest['body']): string {
  return body === undefined ? '' : typeof body === 'string' ? body : new TextDecoder().decode(body)
}

type OptionReader = (values: readonly string[]) => Json

const one: OptionReader = ([value = '']) => value
const truth: OptionReader = ([value]) => value !== 'false' && value !== '0'
const number: OptionReader = ([value]) => Number(value)
const writing: Readonly<Record<string, OptionReader>> = {
  dryRun: (values) => [...values],
  fieldManager: one,
  fieldValidation: one,
}

/** The options of each verb; time-outs and formatting are no part of a mutation. */
const knownOptions: Readonly<Record<Verb, Readonly<Record<string, OptionReader>>>> = {
  Create: writing,
  Update: writing,
  Apply: { ...writing, force: truth },
  Patch: { ...writing, force: truth },
  Delete: {
    dryRun: (values) => [...values],
    gracePeriodSeconds: number,
    ignoreStoreReadErrorWithClusterBreakingPotential: truth,
    orphanDependents: truth,
    propagationPolicy: one,
  },
}

function optionsIn(parameters: URLSearchParams, verb: Verb): JsonObject {
  const known = Object.entries(knownOptions[verb]).filter(([key]) => parameters.has(key))
  const options = Object.fromEntries(known.map(([key, read]) => [key, read(parameters.getAll(key))]))
  // In a URL preconditions are separate parameters.
  const conditions = verb === 'Delete' ? ['resourceVersion', 'uid'].filter((key) => parameters.get(key)) : []
  if (conditions.length === 0) return options
  return { ...options, preconditions: Object.fromEntries(conditions.map((key) => [key, parameters.get(key)!])) }
}

function isEvent({ type }: RecordedMutation): boolean {
  return type.resource === 'events' && (type.group === '' || type.group === 'events.k8s.io')
}

function forbidden({ type, name }: RecordedMutation): JsonObject {
  const message = `${type.resource}.${type.group} "${name}" is forbidden: the operator does not declare it as an output`
  return { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', message, reason: 'Forbidden', code: 403 }
}

function answer(status: number, value: Json): TransportResponse {
  const whole = new TextEncoder().encode(stringifyJson(value))
  return { status, headers: { 'content-type': 'application/json' }, body: bodyOf(whole), whole }
}
