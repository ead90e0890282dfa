/** Steps that read, and those that no server can make sense of. */
import { type Scene, collectionOf, nameOf, pathOf, whole, createStep } from './scene.ts'
import type { Kind, Step } from './step.ts'

const shapes = {
  table: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  metadata: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
  metadataList: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
  yaml: 'application/yaml',
}

export function getStep(scene: Scene, kind: Kind): Step {
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

export function listStep(scene: Scene, kind: Kind): Step {
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

export function ownQuery({ namespace }: Scene, { namespaced }: Kind): Readonly<Record<string, string>> {
  return namespaced ? {} : { labelSelector: `run=${namespace}` }
}

/** A last object that both sides wait for, and all that was seen before it. */
export function watchSteps(scene: Scene, kind: Kind, name: string): readonly Step[] {
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
export function oddStep(scene: Scene, kind: Kind): Step {
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
    // Limits get a name by chance: they are not kept.
    { method: 'POST', path: collectionOf(scene, kind), query: { dryRun: 'All' }, body: { ...body, metadata: {} } },
  ])
}
