/** A custom kind of one's own, for cases about CRDs: defined once, served before it is used, gone at the end. */
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { type Answer, at, type Server } from './server.ts'

export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export interface Kind {
  readonly group: string
  /** The name of the CRD. */
  readonly crd: string
  /** Objects of a version: of all namespaces, or of `default`. */
  readonly path: (version?: string) => string
  /** An object of a version, named `thing` where nothing else is said. */
  readonly object: (content: object, version?: string) => object
}

export interface KindOptions {
  /** Beside name, served, storage and schema, in the one version. */
  readonly version?: object
  /** In place of the one version. */
  readonly versions?: readonly object[]
  /** Beside group, scope, names and versions. */
  readonly spec?: object
}

/** A CRD that is not sent yet. */
export function definition(group: string, schema: object, options: KindOptions = {}): JsonObject {
  const { version, spec, versions } = options
  const own = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: versions ?? [own],
      ...spec,
    },
  } as unknown as JsonObject
}

/** Creates a CRD and waits until all its versions answer. */
export async function defineKind(server: Server, schema: object, options: KindOptions = {}): Promise<Kind> {
  const group = `${server.unique('group')}.example.com`
  const kind = kindOf(group)
  const body = definition(group, schema, options)
  await server.must('POST', crds, { body })
  server.cleanUp(`${crds}/${kind.crd}`)
  const versions = at(body, 'spec', 'versions') as readonly { readonly name: string; readonly served: boolean }[]
  for (const { name, served } of versions) {
    if (served) await server.until(kind.path(name), ({ status }) => status === 200)
  }
  return kind
}

export function kindOf(group: string): Kind {
  return {
    group,
    crd: `things.${group}`,
    path: (version = 'v1') => `/apis/${group}/${version}/namespaces/default/things`,
    object: (content, version = 'v1') => ({
      apiVersion: `${group}/${version}`,
      kind: 'Thing',
      ...content,
      metadata: { name: 'thing', ...(content as { readonly metadata?: object }).metadata },
    }),
  }
}

/** Gives a kind another schema, and waits until it holds: a field of the root called `marker` tells it by its default. */
export async function redefineKind(
  server: Server,
  kind: Kind,
  schema: object,
  options: KindOptions = {},
): Promise<void> {
  const path = `${crds}/${kind.crd}`
  const marker = server.unique('marker')
  const { properties } = schema as { readonly properties: object }
  const marked = { ...schema, properties: { ...properties, marker: { type: 'string', default: marker } } }
  const { spec } = definition(kind.group, marked, options)
  await server.must('PATCH', path, { body: { spec }, type: 'application/merge-patch+json' })
  const probe = { metadata: { name: server.unique('probe') } }
  for (;;) {
    const answer = await server.call('POST', `${kind.path()}?dryRun=All`, { body: kind.object(probe) })
    if (at(answer.body, 'marker') === marker) return
    if (answer.status < 300 || answer.status === 404 || answer.status === 429)
      await new Promise((resolve) => setImmediate(resolve))
    else throw new Error(`a new schema cannot be probed: ${JSON.stringify(answer.body)}`)
  }
}

/**
 * What a case is about: the refusal's words, or the content that came of it. The real server tells several mistakes in
 * an order that is not the same twice (and warnings too), so they are sorted here.
 */
export function outcome(server: Server, answer: Answer): Json {
  const { body, status, headers } = answer
  const said = headers['warning']?.split(/, (?=299 - )/).toSorted()
  const warning = said === undefined ? {} : { warnings: server.maskedJson(said) }
  if (status >= 300) {
    const { message, details } = server.maskedJson(body) as JsonObject
    const causes = ((details as JsonObject | undefined)?.['causes'] ?? []) as readonly Readonly<
      Record<string, string>
    >[]
    const told = causes.map((cause) => `${cause['reason']} ${cause['field']}: ${cause['message']}`)
    return {
      status,
      ...(told.length > 1 ? { causes: told.toSorted() } : { message, reason: causes[0]?.['reason'] }),
      ...warning,
    }
  }
  const {
    apiVersion: _apiVersion,
    kind: _kind,
    metadata: _metadata,
    ...content
  } = server.maskedJson(body) as JsonObject
  return { status, content, ...warning }
}

/** An object schema with these properties. */
export function object(properties: object, more: object = {}): object {
  return { type: 'object', properties, ...more }
}

/** The same, as the spec of a kind. */
export function withSpec(properties: object, more: object = {}): object {
  return object({ spec: object(properties, more) })
}
