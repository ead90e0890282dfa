/**
 * The paths of a resource in OpenAPI v3: methods, parameters and responses, all derived from the resource's name,
 * scope, verbs and subresources. Generated clients use them, and kubectl, to detect server-side field validation.
 */
import type { JsonObject } from '../../../kube/json.ts'
import type { BuiltinSubresource } from '../../../kube/builtin.ts'
import type { ServedResource } from '../../catalog/catalog.ts'
import { listSchemaName, metaSchemas as meta, schemaName, subresourceSchemaName } from './names.ts'
import type { Content, OpenApiSource, OpenApiOperation, Parameter, PathItem } from './source.ts'

type Paths = Record<string, PathItem>
type Methods = { [method in Exclude<keyof PathItem, 'parameters'>]?: OpenApiOperation }

const listParameters = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'pretty',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
  'watch',
]
const writeParameters = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty']
const deleteParameters = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'pretty',
  'propagationPolicy',
]

const builtinTypes = ['application/json', 'application/vnd.kubernetes.protobuf', 'application/yaml']
const customTypes = ['application/json', 'application/yaml']
const streamTypes = [
  'application/json',
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf;stream=watch',
  'application/yaml',
]
const patchTypes = [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
]

/** Kinds whose deletion returns the object; all others return a Status. */
const answersDeletionItself =
  /\.(?:core\.v1\.(?:PersistentVolume|PersistentVolumeClaim|Pod|PodTemplate|ResourceQuota|ServiceAccount|Service)|(?:resource|storage)\.v\w+\.(?!CSIStorageCapacity|DeviceTaintRule)\w+)$/

/** The discovery path `/apis/apps/v1`. */
export function indexPath(group: string, version: string, source: OpenApiSource): Paths {
  const content = contentOf(builtinTypes, refTo(`${meta}.APIResourceList`))
  const operation: OpenApiOperation = {
    tags: [tagOf(group, version)],
    description: 'get available resources',
    operationId: `get${capital(camel(group))}${capital(version)}APIResources`,
    responses: answers(content, []),
  }
  return { [`${root(group, version)}/`]: pathItem({ get: operation }, [], source, '', '') }
}

export function resourcePaths(served: ServedResource, source: OpenApiSource): Paths {
  const { group, version, plural, namespaced, verbs } = served
  const base = root(group, version)
  const collection = namespaced ? `${base}/namespaces/{namespace}/${plural}` : `${base}/${plural}`
  const paths: Paths = {}
  const put = (path: string, methods: Methods, kind: string, place = ''): void => {
    if (Object.keys(methods).length > 0) paths[path] = pathItem(methods, inPath(path), source, kind, place)
  }
  const operations = operationsOf(served)
  put(
    collection,
    {
      ...(verbs.includes('list') && { get: operations.list('') }),
      ...(verbs.includes('create') && { post: operations.create() }),
      ...(verbs.includes('deletecollection') && { delete: operations.deleteCollection() }),
    },
    served.kind,
  )
  put(`${collection}/{name}`, operations.onObject(verbs), served.kind)
  if (namespaced && verbs.includes('list')) {
    put(`${base}/${plural}`, { get: operations.list('ForAllNamespaces') }, served.kind)
  }
  for (const sub of served.subresources) {
    const path = `${collection}/{name}/${sub.name}`
    const kind = served.custom ? served.kind : sub.kind
    const place = `${plural}/${sub.name}/`
    if (!isConnected(sub)) {
      put(path, operations.onSubresource(sub), kind, place)
      continue
    }
    put(path, operations.connect(sub, ''), kind, place)
    if (sub.name === 'proxy') put(`${path}/{path}`, operations.connect(sub, 'WithPath'), kind, place)
  }
  if (!served.custom && verbs.includes('watch')) {
    const watched = collection.replace(base, `${base}/watch`)
    put(watched, { get: operations.watchList('') }, served.kind)
    put(`${watched}/{name}`, { get: operations.watchOne() }, served.kind)
    if (namespaced) put(`${base}/watch/${plural}`, { get: operations.watchList('ForAllNamespaces') }, served.kind)
  }
  return paths
}

interface Operations {
  list(suffix: string): OpenApiOperation
  create(): OpenApiOperation
  deleteCollection(): OpenApiOperation
  onObject(verbs: readonly string[]): Methods
  onSubresource(sub: BuiltinSubresource): Methods
  connect(sub: BuiltinSubresource, suffix: string): Methods
  watchList(suffix: string): OpenApiOperation
  watchOne(): OpenApiOperation
}

/** Parameters are names here; `pathItem` resolves them when it knows which ones all methods of a path share. */
function operationsOf(served: ServedResource): Operations {
  const { group, version, kind, namespaced, custom } = served
  const own = schemaName(served)
  const types = custom ? customTypes : builtinTypes
  const object = (definition: string | undefined): Content =>
    contentOf(types, definition === undefined ? { type: 'string' } : refTo(definition))
  const scope = namespaced ? 'Namespaced' : ''
  const title = `${capital(camel(group))}${capital(version)}`
  const single = article(kind)

  const operation = (
    verb: string,
    action: string,
    what: { readonly description: string; readonly name: string; readonly kind?: BuiltinSubresource },
    rest: Pick<OpenApiOperation, 'responses' | 'requestBody'> & { readonly names: readonly string[] },
  ): OpenApiOperation => {
    const { names, requestBody, responses } = rest
    const owner = what.kind && !custom ? what.kind : served
    return {
      tags: [tagOf(group, version)],
      description: what.description,
      operationId: `${verb}${title}${what.name}`,
      parameters: names as unknown as readonly Parameter[],
      ...(requestBody && { requestBody }),
      responses,
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': { group: owner.group, version: owner.version, kind: owner.kind },
    }
  }

  const body = (definition: string, required: boolean): NonNullable<OpenApiOperation['requestBody']> => ({
    content: contentOf(custom ? customTypes : ['*/*'], refTo(definition)),
    ...(required && { required }),
  })
  const read = (of: string, name: string, definition: string | undefined, sub?: BuiltinSubresource): OpenApiOperation =>
    operation(
      'read',
      'get',
      { description: `read ${of}the specified ${kind}`, name, ...(sub && { kind: sub }) },
      {
        names: custom ? ['pretty', 'resourceVersion'] : ['pretty'],
        responses: answers(
          sub?.name === 'log' ? contentOf([...types, 'text/plain'], { type: 'string' }) : object(definition),
          [],
        ),
      },
    )
  const replace = (of: string, name: string, definition: string, sub?: BuiltinSubresource): OpenApiOperation =>
    operation(
      'replace',
      'put',
      { description: `replace ${of}the specified ${kind}`, name, ...(sub && { kind: sub }) },
      { names: writeParameters, requestBody: body(definition, true), responses: answers(object(definition), ['201']) },
    )
  const patch = (of: string, name: string, definition: string, sub?: BuiltinSubresource): OpenApiOperation =>
    operation(
      'patch',
      'patch',
      { description: `partially update ${of}the specified ${kind}`, name, ...(sub && { kind: sub }) },
      {
        names: ['dryRun', 'patch/fieldManager', 'fieldValidation', 'patch/force', 'pretty'],
        requestBody: {
          content: contentOf(custom ? patchTypes.slice(0, 3) : patchTypes, refTo(`${meta}.Patch`)),
          required: true,
        },
        responses: answers(object(definition), custom ? [] : ['201']),
      },
    )
  const create = (of: string, name: string, definition: string, sub?: BuiltinSubresource): OpenApiOperation =>
    operation(
      'create',
      'post',
      { description: `create ${of}${single}`, name, ...(sub && { kind: sub }) },
      {
        names: writeParameters,
        requestBody: body(definition, true),
        responses: answers(object(definition), ['201', '202']),
      },
    )
  const streamed = contentOf(custom ? customTypes : streamTypes, refTo(listSchemaName(served)))
  const watchContent = contentOf(streamTypes, refTo(`${meta}.WatchEvent`))
  const deprecated = "deprecated: use the 'watch' parameter with a list operation instead"

  return {
    list: (suffix) =>
      operation(
        'list',
        'list',
        {
          description: `list ${served.verbs.includes('watch') && !custom ? 'or watch ' : ''}objects of kind ${kind}`,
          name: suffix === '' ? `${scope}${kind}` : `${kind}${suffix}`,
        },
        { names: listParameters, responses: answers(streamed, []) },
      ),
    create: () => create('', `${scope}${kind}`, own),
    deleteCollection: () =>
      operation(
        'delete',
        'deletecollection',
        { description: `delete collection of ${kind}`, name: `Collection${scope}${kind}` },
        {
          names: custom
            ? listParameters
            : [...new Set([...listParameters, ...deleteParameters])]
                .filter((name) => name !== 'watch' && name !== 'allowWatchBookmarks')
                .toSorted(),
          ...(!custom && { requestBody: body(`${meta}.DeleteOptions`, false) }),
          responses: answers(object(`${meta}.Status`), []),
        },
      ),
    onObject: (verbs) => ({
      ...(verbs.includes('get') && { get: read('', `${scope}${kind}`, own) }),
      ...(verbs.includes('update') && { put: replace('', `${scope}${kind}`, own) }),
      ...(verbs.includes('delete') && {
        delete: operation(
          'delete',
          'delete',
          { description: `delete ${single}`, name: `${scope}${kind}` },
          {
            names: deleteParameters,
            requestBody: body(`${meta}.DeleteOptions`, false),
            responses: answers(object(answersDeletionItself.test(own) && !custom ? own : `${meta}.Status`), ['202']),
          },
        ),
      }),
      ...(verbs.includes('patch') && { patch: patch('', `${scope}${kind}`, own) }),
    }),
    onSubresource(sub) {
      const name = `${scope}${kind}${capital(sub.name)}`
      const definition = subresourceSchemaName(served, sub) ?? own
      const of = `${sub.name} of `
      return {
        ...(sub.verbs.includes('get') && { get: read(of, name, definition, sub) }),
        ...(sub.verbs.includes('update') && { put: replace(of, name, definition, sub) }),
        ...(sub.verbs.includes('create') && { post: create(of, name, definition, sub) }),
        ...(sub.verbs.includes('patch') && { patch: patch(of, name, definition, sub) }),
      }
    },
    connect(sub, suffix) {
      const methods: readonly (keyof Methods)[] =
        sub.name === 'proxy' ? ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] : ['get', 'post']
      return Object.fromEntries(
        methods.map((method) => [
          method,
          operation(
            'connect',
            'connect',
            {
              description: `connect ${method.toUpperCase()} requests to ${sub.name} of ${kind}`,
              name: `${capital(method)}${scope}${kind}${capital(sub.name)}${suffix}`,
              kind: sub,
            },
            { names: [], responses: answers(contentOf(['*/*'], { type: 'string' }), []) },
          ),
        ]),
      )
    },
    watchList: (suffix) =>
      operation(
        'watch',
        'watchlist',
        {
          description: `watch individual changes to a list of ${kind}. ${deprecated}.`,
          name: suffix === '' ? `${scope}${kind}List` : `${kind}List${suffix}`,
        },
        { names: listParameters, responses: answers(watchContent, []) },
      ),
    watchOne: () =>
      operation(
        'watch',
        'watch',
        {
          description: `watch changes to an object of kind ${kind}. ${deprecated}, filtered to a single item with the 'fieldSelector' parameter.`,
          name: `${scope}${kind}`,
        },
        { names: listParameters, responses: answers(watchContent, []) },
      ),
  }
}

/** Resolves the names of parameters; those that all methods share go to the path itself. */
function pathItem(
  methods: Methods,
  fromPath: readonly string[],
  { parameters }: OpenApiSource,
  kind: string,
  place: string,
): PathItem {
  const special = Object.entries(parameters).filter(([key]) => place !== '' && key.startsWith(place))
  const find = (name: string): Parameter =>
    name === 'name'
      ? {
          name,
          in: 'path',
          description: `name of the ${kind}`,
          required: true,
          schema: { type: 'string', uniqueItems: true },
        }
      : parameters[name]!
  const entries = Object.entries(methods).map(
    ([method, operation]) => [method, operation, (operation.parameters ?? []) as unknown as readonly string[]] as const,
  )
  const isShared = (name: string): boolean => entries.every(([, , names]) => names.includes(name))
  const shared = [
    ...[...fromPath, ...new Set(entries[0]?.[2].filter(isShared))].map(find),
    ...special.map(([, parameter]) => parameter),
  ].toSorted((a, b) => compare(a.name, b.name) || compare(a.in, b.in))
  const finished = entries.map(([method, { parameters: _names, ...operation }, names]) => {
    const own = names.filter((name) => !isShared(name)).map(find)
    const { tags, description, operationId, ...rest } = operation
    const head = { ...(tags && { tags }), description, operationId }
    return [method, own.length === 0 ? operation : { ...head, parameters: own, ...rest }] as const
  })
  return { ...Object.fromEntries(finished), ...(shared.length > 0 && { parameters: shared }) }
}

function isConnected({ kind }: BuiltinSubresource): boolean {
  return kind.endsWith('Options')
}

function inPath(path: string): readonly string[] {
  return ['name', 'namespace', 'path'].filter((name) => path.includes(`{${name}}`))
}

function answers(content: Content, further: readonly string[]): OpenApiOperation['responses'] {
  const words: Readonly<Record<string, string>> = { '200': 'OK', '201': 'Created', '202': 'Accepted' }
  const successes = ['200', ...further].map((code) => [code, { description: words[code]!, content }])
  return { ...(Object.fromEntries(successes) as OpenApiOperation['responses']), '401': { description: 'Unauthorized' } }
}

function contentOf(types: readonly string[], schema: JsonObject): Content {
  return Object.fromEntries(types.map((type) => [type, { schema }]))
}

function refTo(definition: string): JsonObject {
  return { $ref: `#/components/schemas/${definition}` }
}

function root(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`
}

function tagOf(group: string, version: string): string {
  return `${camel(group)}_${version}`
}

/** The group in operation names: `rbacAuthorization` for `rbac.authorization.k8s.io`. */
function camel(group: string): string {
  if (group === '') return 'core'
  const [first = '', ...rest] = group.replace(/\.k8s\.io$/, '').split(/[.-]/)
  return first + rest.map(capital).join('')
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function article(kind: string): string {
  // Plurals have no article; Class and Ingress are not plurals.
  if (kind.endsWith('s') && !kind.endsWith('ss')) return kind
  return `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
