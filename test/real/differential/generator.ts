/**
 * Request sequences by chance. A sequence deals with a few kinds and a few names in a namespace of its own, so that
 * writes meet each other: creates of what is there, conflicts of managers, updates of what is being deleted.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../src/kube/json.ts'
import { applyMergePatch } from '../../../src/kube/merge-patch.ts'
import { type Chance, chanceOf } from './chance.ts'
import { type Edit, edited, mergePatchOf, placeOf, placesIn, pointerOf, strategicPatchOf } from './edit.ts'
import { clusterKinds } from './kinds-cluster.ts'
import { coreKinds } from './kinds-core.ts'
import { customKinds } from './kinds-custom.ts'
import { workloadKinds } from './kinds-workload.ts'
import { type Edits, gone, type Kind, type Sequence, type Step } from './step.ts'

export interface GeneratorOptions {
  readonly seed: number
  /** Requests in the sequence. */
  readonly length: number
  /** Of the custom kinds. */
  readonly group: string
  /** Where nobody else is. */
  readonly namespace: string
  /** Only these, by plural. */
  readonly only?: readonly string[] | undefined
}

interface Scene {
  readonly chance: Chance
  readonly namespace: string
  /** How often something was scaled. */
  scales: number
}

const managers = ['alpha', 'beta', 'gamma']
const names = ['a', 'b']

export function generate({ seed, length, group, namespace, only }: GeneratorOptions): Sequence {
  const chance = chanceOf(seed)
  const scene: Scene = { chance, namespace, scales: 0 }
  const all = [...coreKinds, ...workloadKinds, ...clusterKinds, ...customKinds(group), ...customKinds(group)]
  const some = only ? all.filter(({ plural }) => only.includes(plural)) : all
  const kinds = Array.from({ length: 2 }, () => chance.pick(some))
  const steps: Step[] = kinds.map((kind) => createStep(scene, kind, 'a', []))
  while (steps.length < length - 2 * kinds.length) steps.push(...stepsOf(scene, chance.pick(kinds)))
  for (const [index, kind] of kinds.entries()) {
    steps.push(...watchSteps(scene, kind, `last-${index}`), {
      method: 'GET',
      path: collectionOf(scene, kind),
      query: ownQuery(scene, kind),
    })
  }
  const tried = new Set(kinds.filter(({ isDryRun }) => isDryRun).map((kind) => collectionOf(scene, kind)))
  return { seed, namespace, steps: steps.map((step) => (isUnder(step.path, tried) ? dryRun(step) : step)) }
}

function isUnder(path: string, collections: ReadonlySet<string>): boolean {
  return [...collections].some((collection) => path === collection || path.startsWith(`${collection}/`))
}

function dryRun(step: Step): Step {
  if (step.method === 'GET') return step.until === undefined ? step : { method: 'GET', path: step.path }
  return { ...step, query: { ...step.query, dryRun: 'All' } }
}

function stepsOf(scene: Scene, kind: Kind): readonly Step[] {
  const { chance } = scene
  const { status, hasScale, actions } = kind
  const make = chance.weigh<(scene: Scene, kind: Kind) => readonly Step[]>([
    [10, (s, k) => [anyCreate(s, k)]],
    [12, (s, k) => [replaceStep(s, k)]],
    [6, (s, k) => [jsonPatchStep(s, k)]],
    [10, (s, k) => [mergePatchStep(s, k)]],
    [k8(kind) ? 8 : 1, (s, k) => [strategicPatchStep(s, k)]],
    [20, (s, k) => [applyStep(s, k)]],
    [status ? 12 : 1, (s, k) => [statusStep(s, k)]],
    [hasScale ? 4 : 0, (s, k) => [scaleStep(s, k)]],
    [actions ? 6 : 0, (s, k) => [actionStep(s, k)]],
    [7, (s, k) => [deleteStep(s, k)]],
    [1, (s, k) => [deleteCollectionStep(s, k)]],
    [6, (s, k) => [getStep(s, k)]],
    [8, (s, k) => [listStep(s, k)]],
    [1, (s, k) => watchSteps(s, k, `w${s.chance.below(1e6)}`)],
    [2, (s, k) => [oddStep(s, k)]],
  ])
  return make(scene, kind)
}

/** Strategic patches are for built-in kinds. */
function k8({ apiVersion }: Kind): boolean {
  return !apiVersion.includes('.') || apiVersion.includes('.k8s.io')
}

function collectionOf({ namespace }: Scene, { apiVersion, plural, namespaced }: Kind): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return namespaced ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`
}

/** Objects outside of namespaces are told apart by their names. */
function nameOf({ namespace }: Scene, { namespaced }: Kind, name: string): string {
  return namespaced ? name : `${namespace}-${name}`
}

function pathOf(scene: Scene, kind: Kind, name: string = scene.chance.pick(names)): string {
  return `${collectionOf(scene, kind)}/${nameOf(scene, kind, name)}`
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function whole(scene: Scene, kind: Kind, name: string, edits: readonly Edit[]): JsonObject {
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
function settled({ namespace }: Scene, name: string, value: Json): Json {
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

function someEdits({ chance }: Scene, kind: Kind, from: readonly Edits[] = kind.edits, atMost = 3): readonly Edit[] {
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

function createStep(scene: Scene, kind: Kind, name: string, edits: readonly Edit[]): Step {
  return { method: 'POST', path: collectionOf(scene, kind), body: whole(scene, kind, name, edits) }
}

function writeQuery({ chance }: Scene): Readonly<Record<string, string>> {
  return {
    ...(chance.once(2) && { fieldManager: chance.pick(managers) }),
    ...(chance.once(12) && { dryRun: 'All' }),
    ...(chance.once(6) && { fieldValidation: chance.pick(['Strict', 'Warn', 'Ignore', 'Strict', 'Odd']) }),
  }
}

function anyCreate(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const step = createStep(scene, kind, chance.pick(names), chance.once(4) ? [] : someEdits(scene, kind))
  const query = writeQuery(scene)
  if (chance.once(8)) {
    const { metadata, ...rest } = step.body as JsonObject
    const { name: _name, ...unnamed } = metadata as JsonObject
    const generated = { ...rest, metadata: { ...unnamed, generateName: chance.pick(['gen-', 'gen-', 'Gen-']) } }
    // Names by chance come in no order that two servers share: nothing is kept.
    return { ...step, query: { ...query, dryRun: 'All' }, body: generated }
  }
  if (chance.once(20)) return { ...step, query, body: twice(chance, step.body as JsonObject) }
  if (chance.once(20)) return { ...step, query, type: 'application/yaml', body: JSON.stringify(step.body) }
  return { ...step, query }
}

/** Text with a key that comes twice. */
function twice(chance: Chance, body: JsonObject): string {
  const key = chance.pick(Object.keys(body))
  return `${JSON.stringify(body).slice(0, -1)},${JSON.stringify(key)}:${JSON.stringify(body[key])}}`
}

function patchOf(edits: readonly Edit[], base: JsonObject, make: (edit: Edit, base: JsonObject) => Json): JsonObject {
  return edits.reduce<JsonObject>((patch, edit) => overlaid(patch, make(edit, base) as JsonObject), {})
}

/** One patch over another, nulls kept. */
function overlaid(under: JsonObject, over: JsonObject): JsonObject {
  const members = new Map(Object.entries(under))
  for (const [name, member] of Object.entries(over)) {
    const before = members.get(name)
    members.set(name, isJsonObject(before) && isJsonObject(member) ? overlaid(before, member) : member)
  }
  return Object.fromEntries(members)
}

function replaceStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const path = pathOf(scene, kind)
  const query = writeQuery(scene)
  if (chance.once(4)) {
    const edits = someEdits(scene, kind)
    return {
      method: 'PUT',
      path,
      query,
      body: whole(scene, kind, nameIn(path).replace(`${scene.namespace}-`, ''), edits),
    }
  }
  const edits = someEdits(scene, kind)
  const patch = patchOf(edits, kind.template, mergePatchOf)
  const odd = chance.weigh<JsonObject>([
    [12, {}],
    [kind.isRestless ? 0 : 2, { metadata: { resourceVersion: '{{stale}}' } }],
    [2, { metadata: { resourceVersion: null } }],
    [1, { metadata: { uid: '{{uid}}', resourceVersion: null } }],
    [1, { metadata: { uid: '00000000-0000-0000-0000-000000000001' } }],
    [1, { metadata: { name: 'another' } }],
    [1, { metadata: { managedFields: null } }],
  ])
  return { method: 'PUT', path, query, onto: true, body: overlaid(patch, odd) }
}

function mergePatchStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const body = overlaid(patchOf(someEdits(scene, kind), kind.template, mergePatchOf), precondition(chance, kind))
  return {
    method: 'PATCH',
    path: pathOf(scene, kind),
    query: writeQuery(scene),
    type: 'application/merge-patch+json',
    body,
  }
}

function precondition(chance: Chance, { isRestless }: Kind): JsonObject {
  return chance.weigh<JsonObject>([
    [12, {}],
    [1, { metadata: { resourceVersion: '{{version}}' } }],
    [isRestless ? 0 : 1, { metadata: { resourceVersion: '{{stale}}' } }],
    [1, { metadata: { uid: '00000000-0000-0000-0000-000000000001' } }],
  ])
}

function strategicPatchStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const patch = patchOf(someEdits(scene, kind), kind.template, strategicPatchOf)
  const directive = chance.weigh<JsonObject>([
    [14, {}],
    [
      1,
      {
        metadata: {
          $deleteFromPrimitiveList: undefined,
          '$deleteFromPrimitiveList/finalizers': ['example.com/hold'],
        },
      },
    ],
    [1, { metadata: { labels: { $patch: 'replace', run: scene.namespace } } }],
    [1, { spec: { $retainKeys: ['replicas', 'selector', 'template'] } }],
    [1, { spec: { $patch: 'bogus' } }],
  ])
  const body = overlaid(overlaid(patch, directive), precondition(chance, kind))
  return {
    method: 'PATCH',
    path: pathOf(scene, kind),
    query: writeQuery(scene),
    type: 'application/strategic-merge-patch+json',
    body,
  }
}

function jsonPatchStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const operations = someEdits(scene, kind).map(({ place, value }): Json => {
    const path = pointerOf(place)
    if (value === gone) return { op: 'remove', path }
    return { op: chance.pick(['add', 'add', 'replace', 'test']), path, value }
  })
  const odd: readonly Json[] = [
    { op: 'copy', from: '/metadata/labels', path: '/metadata/annotations' },
    { op: 'move', from: '/metadata/labels/run', path: '/metadata/labels/moved' },
    { op: 'test', path: '/metadata/name', value: 'nobody' },
    { op: 'odd', path: '/metadata/name' },
    { op: 'add', path: 'no-slash', value: 1 },
  ]
  const body = chance.once(5) ? [...operations, chance.pick(odd)] : operations
  return {
    method: 'PATCH',
    path: pathOf(scene, kind),
    query: writeQuery(scene),
    type: 'application/json-patch+json',
    body,
  }
}

function applyStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const path = pathOf(scene, kind)
  const name = nameIn(path)
  const edits = someEdits(scene, kind)
  const identity = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name } }
  const short = name.replace(`${scene.namespace}-`, '')
  // All of it, or only what is changed: then managers own different parts.
  const part = withoutNulls(patchOf(edits, kind.template, strategicPatchOf))
  const body = chance.once(2)
    ? whole(scene, kind, short, edits)
    : (settled(scene, name, overlaid(identity, part)) as JsonObject)
  const query: Readonly<Record<string, string>> = {
    ...writeQuery(scene),
    ...(kind.isDryRun && { dryRun: 'All' }),
    fieldManager: chance.pick(managers),
    ...(chance.once(3) && { force: 'true' }),
  }
  return {
    method: 'PATCH',
    path,
    query,
    type: 'application/apply-patch+yaml',
    // A version in a dry run of what is not there is sent back, which is of no use to anybody.
    body: chance.once(10) && query['dryRun'] === undefined ? overlaid(body, precondition(chance, kind)) : body,
  }
}

function withoutNulls(patch: JsonObject): JsonObject {
  return applyMergePatch({}, patch) as JsonObject
}

function statusStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const path = `${pathOf(scene, kind)}/status`
  const name = path.split('/').at(-2)!
  const edits = someEdits(scene, kind, kind.status ?? [['status/phase', 'Odd']], 2)
  const query = writeQuery(scene)
  const patch = patchOf(edits, kind.template, mergePatchOf)
  return chance.weigh<() => Step>([
    [3, () => ({ method: 'PUT', path, query, onto: true, body: patch })],
    [3, () => ({ method: 'PATCH', path, query, type: 'application/merge-patch+json', body: patch })],
    [1, () => ({ method: 'GET', path })],
    [
      3,
      () => ({
        method: 'PATCH',
        path,
        query: { ...query, fieldManager: chance.pick(managers), ...(chance.once(2) && { force: 'true' }) },
        type: 'application/apply-patch+yaml',
        body: overlaid({ apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name } }, withoutNulls(patch)),
      }),
    ],
    [
      k8(kind) ? 2 : 0,
      () => ({
        method: 'PATCH',
        path,
        query,
        type: 'application/strategic-merge-patch+json',
        body: patchOf(edits, kind.template, strategicPatchOf),
      }),
    ],
  ])()
}

function scaleStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const path = `${pathOf(scene, kind)}/scale`
  // Never what it was: a scale that changes nothing makes the real server forget who owns the replicas.
  const replicas = chance.once(3) ? chance.pick<Json>([-1, 'x', 1.5]) : 3 + ++scene.scales
  return chance.weigh<() => Step>([
    [1, () => ({ method: 'GET', path })],
    [2, () => ({ method: 'PUT', path, query: writeQuery(scene), body: scaleBody(path, replicas) })],
    [
      2,
      () => ({
        method: 'PATCH',
        path,
        query: writeQuery(scene),
        type: 'application/merge-patch+json',
        body: { spec: { replicas } },
      }),
    ],
  ])()
}

function scaleBody(path: string, replicas: Json): JsonObject {
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: path.split('/').at(-2)! },
    spec: { replicas },
  }
}

function actionStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const { method, subresource, bodies, type } = chance.pick(kind.actions!)
  const path = pathOf(scene, kind)
  const body = settled(scene, nameIn(path), chance.pick(bodies))
  return { method, path: `${path}/${subresource}`, query: writeQuery(scene), body, ...(type && { type }) }
}

function deleteStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const own = chance.weigh<JsonObject>([
    [6, {}],
    [1, { preconditions: { uid: '{{uid}}' } }],
    [kind.isRestless ? 0 : 1, { preconditions: { resourceVersion: '{{stale}}' } }],
    [1, { preconditions: { resourceVersion: '{{version}}' } }],
    [1, { preconditions: { uid: '00000000-0000-0000-0000-000000000001' } }],
    [2, { propagationPolicy: 'Background' }],
    [1, { gracePeriodSeconds: 0 }],
    [1, { gracePeriodSeconds: 5 }],
    [1, { gracePeriodSeconds: -1 }],
    [1, { dryRun: ['All'] }],
    [1, { propagationPolicy: 'Odd' }],
    [1, { gracePeriodSeconds: 'x' }],
  ])
  const path = pathOf(scene, kind)
  // By itself a job leaves its pods behind, which is for a collector of garbage to see to.
  const body = kind.plural === 'jobs' ? { propagationPolicy: 'Background', ...own } : own
  // A namespace that goes is emptied here, and by nobody there.
  if (kind.plural === 'namespaces') return { method: 'DELETE', path, query: { dryRun: 'All' } }
  return chance.once(2)
    ? { method: 'DELETE', path, query: { propagationPolicy: 'Background' } }
    : { method: 'DELETE', path, body }
}

function deleteCollectionStep(scene: Scene, kind: Kind): Step {
  if (kind.plural === 'namespaces') return getStep(scene, kind)
  const query = {
    labelSelector: `run=${scene.namespace}${scene.chance.once(2) ? ',tier=x' : ''}`,
    propagationPolicy: 'Background',
  }
  return {
    method: 'DELETE',
    path: collectionOf(scene, kind),
    query: scene.chance.once(4) ? { ...query, dryRun: 'All' } : query,
  }
}

const shapes = {
  table: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  metadata: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
  metadataList: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
  yaml: 'application/yaml',
}

function getStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const accept = chance.weigh([
    [4, ''],
    [1, shapes.table],
    [1, shapes.metadata],
    [1, shapes.yaml],
    [1, 'application/nonsense'],
  ])
  return { method: 'GET', path: pathOf(scene, kind), ...(accept && { accept }) }
}

function listStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const accept = chance.weigh([
    [6, ''],
    [2, shapes.table],
    [1, shapes.metadataList],
    [1, shapes.yaml],
  ])
  const own = `run=${scene.namespace}`
  const query = chance.weigh<Readonly<Record<string, string>>>([
    [4, {}],
    [2, { labelSelector: `${own},tier` }],
    [1, { labelSelector: `${own},tier in (x,z)` }],
    [1, { labelSelector: `${own},!tier` }],
    [1, { labelSelector: 'a b c' }],
    [2, { fieldSelector: `metadata.name=${nameOf(scene, kind, 'a')}` }],
    [1, { fieldSelector: `metadata.name!=${nameOf(scene, kind, 'a')}` }],
    [1, { fieldSelector: 'spec.nothing=x' }],
    [
      1,
      {
        fieldSelector: chance.pick([
          'status.phase=Running',
          'spec.nodeName=',
          'type=Opaque',
          'reason=Started',
          'spec.size=small',
        ]),
      },
    ],
    [2, { limit: '1' }],
    [2, { limit: '1', continue: '{{continue}}' }],
    [1, { resourceVersion: '0' }],
    [1, { resourceVersion: '{{list}}', resourceVersionMatch: 'Exact' }],
    [1, { resourceVersion: '{{list}}', resourceVersionMatch: 'NotOlderThan' }],
    [1, { resourceVersionMatch: 'Exact' }],
    [1, { limit: 'x' }],
  ])
  const scoped = kind.namespaced ? query : ownOf(query, own)
  return { method: 'GET', path: collectionOf(scene, kind), query: scoped, ...(accept && { accept }) }
}

/** Outside of namespaces there are others: only what is one's own is listed, and not by the page. */
function ownOf(query: Readonly<Record<string, string>>, own: string): Readonly<Record<string, string>> {
  if (query['limit']) return { labelSelector: own }
  return query['labelSelector']?.startsWith(own) ? query : { ...query, labelSelector: own }
}

function ownQuery({ namespace }: Scene, { namespaced }: Kind): Readonly<Record<string, string>> {
  return namespaced ? {} : { labelSelector: `run=${namespace}` }
}

/** A last object that both sides wait for, and all that was seen before it. */
function watchSteps(scene: Scene, kind: Kind, name: string): readonly Step[] {
  const { chance } = scene
  if (kind.isRestless) return [getStep(scene, kind)]
  const own = `run=${scene.namespace}`
  const selector = chance.pick([own, own, `${own},tier!=x`])
  const end = createStep(scene, kind, name, [])
  const query = {
    watch: 'true',
    labelSelector: selector,
    timeoutSeconds: '5',
    resourceVersion: chance.pick(['{{start}}', '{{start}}', '{{list}}']),
  }
  const accept = chance.weigh([
    [6, ''],
    [1, shapes.table],
    [1, shapes.metadata],
  ])
  const away: Step = {
    method: 'DELETE',
    path: `${end.path}/${nameOf(scene, kind, name)}`,
    query: { propagationPolicy: 'Background' },
  }
  return [
    end,
    { method: 'GET', path: end.path, query, until: nameOf(scene, kind, name), ...(accept && { accept }) },
    ...(kind.plural === 'namespaces' ? [] : [away]),
  ]
}

/** Requests that are none. */
function oddStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const path = pathOf(scene, kind)
  const body = whole(scene, kind, 'a', [])
  return chance.pick<Step>([
    { method: 'POST', path: collectionOf(scene, kind), body: '{"metadata":' },
    { method: 'POST', path: collectionOf(scene, kind), body: '[]' },
    { method: 'POST', path: collectionOf(scene, kind), body: { ...body, apiVersion: 'v9' } },
    { method: 'POST', path: collectionOf(scene, kind), body: { ...body, kind: 'Nothing' } },
    { method: 'POST', path: collectionOf(scene, kind), type: 'text/plain', body: 'x' },
    { method: 'POST', path, body },
    { method: 'PUT', path: collectionOf(scene, kind), body },
    { method: 'PATCH', path, type: 'application/json', body: {} },
    { method: 'PATCH', path, type: 'application/merge-patch+json', body: '{' },
    { method: 'PATCH', path, type: 'application/json-patch+json', body: {} },
    { method: 'PATCH', path, type: 'application/apply-patch+yaml', body },
    { method: 'GET', path: `${path}/nothing` },
    {
      method: 'POST',
      path: collectionOf(scene, kind),
      body: { ...body, metadata: { name: nameOf(scene, kind, 'Bad-Name') } },
    },
    {
      method: 'POST',
      path: collectionOf(scene, kind),
      body: { ...body, metadata: { name: nameOf(scene, kind, 'x'), namespace: 'elsewhere' } },
    },
    // A service without a name fails at getting its address, there.
    ...(kind.plural === 'services'
      ? []
      : [{ method: 'POST' as const, path: collectionOf(scene, kind), body: { ...body, metadata: {} } }]),
  ])
}
