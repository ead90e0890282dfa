/** Steps that write: every way to say a change, with what may go wrong with it. */
import type { Json, JsonObject } from '../../../src/kube/json.ts'
import { applyMergePatch } from '../../../src/kube/patch/merge-patch.ts'
import type { Chance } from './chance.ts'
import { mergePatchOf, pointerOf, strategicPatchOf } from './edit.ts'
import { getStep } from './reads.ts'
import {
  type Scene,
  managers,
  isBuiltIn,
  collectionOf,
  pathOf,
  nameIn,
  names,
  whole,
  settled,
  someEdits,
  createStep,
  writeQuery,
  patchOf,
  overlaid,
} from './scene.ts'
import { gone, type Kind, type Step } from './step.ts'

export function anyCreate(scene: Scene, kind: Kind): Step {
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

export function replaceStep(scene: Scene, kind: Kind): Step {
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

export function mergePatchStep(scene: Scene, kind: Kind): Step {
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

export function strategicPatchStep(scene: Scene, kind: Kind): Step {
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

export function jsonPatchStep(scene: Scene, kind: Kind): Step {
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

export function applyStep(scene: Scene, kind: Kind): Step {
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
    body: chance.once(10) ? overlaid(body, precondition(chance, kind)) : body,
  }
}

function withoutNulls(patch: JsonObject): JsonObject {
  return applyMergePatch({}, patch) as JsonObject
}

export function statusStep(scene: Scene, kind: Kind): Step {
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
      isBuiltIn(kind) ? 2 : 0,
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

export function scaleStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const path = `${pathOf(scene, kind)}/scale`
  const replicas = chance.once(3) ? chance.pick<Json>([-1, 'x', 1.5, null]) : chance.below(4)
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

export function actionStep(scene: Scene, kind: Kind): Step {
  const { chance } = scene
  const { method, subresource, bodies, type } = chance.pick(kind.actions!)
  const path = pathOf(scene, kind)
  const body = settled(scene, nameIn(path), chance.pick(bodies))
  return { method, path: `${path}/${subresource}`, query: writeQuery(scene), body, ...(type && { type }) }
}

export function deleteStep(scene: Scene, kind: Kind): Step {
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
  // By default these kinds orphan their pods, which only a garbage collector would handle.
  const body =
    kind.plural === 'jobs' || kind.plural === 'replicationcontrollers'
      ? { propagationPolicy: 'Background', ...own }
      : own
  // The embedded server empties a deleted namespace; the real one runs without a namespace controller.
  if (kind.plural === 'namespaces') return { method: 'DELETE', path, query: { dryRun: 'All' } }
  return chance.once(2)
    ? { method: 'DELETE', path, query: { propagationPolicy: 'Background' } }
    : { method: 'DELETE', path, body }
}

export function deleteCollectionStep(scene: Scene, kind: Kind): Step {
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
