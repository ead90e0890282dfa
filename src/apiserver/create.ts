/** Create: an object that has no name yet in this cluster gets one, and all that the server alone gives. */
import { updateObject } from '../kube/apply/apply.ts'
import { formatTime } from '../kube/duration.ts'
import type { Json } from '../kube/json.ts'
import {
  checkDns1035Label,
  checkDnsLabel,
  checkDnsSubdomain,
  checkPathSegment,
  generateName,
  type NameCheck,
} from '../kube/name.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { Served } from './catalog.ts'
import { acceptCrd, crdTable } from './crd.ts'
import { alreadyExists, cause, forbidden, internal, invalid, notFound } from './refusal.ts'
import { type ClusterState, findObject } from './state.ts'
import type { StoredObject } from './storage.ts'
import { countsGenerations, prepareCreate } from './strategy.ts'
import { admit, checkIdentity, ownershipOf, type Writing } from './writing.ts'

export function create(state: ClusterState, writing: Writing, body: Json): StoredObject {
  const object = admit(writing, body)
  checkIdentity(writing, object)
  if (object.metadata.resourceVersion) {
    throw internal('resourceVersion should not be set on objects to be created')
  }
  const prepared = prepareNew(state, writing, object)
  return storeNew(state, writing, updateObject({ ...ownershipOf(state, writing), live: undefined, updated: prepared }))
}

/** The object with its name, its uid and its first state. The record of ownership and the revision are still to come. */
export function prepareNew(state: ClusterState, writing: Writing, object: UntypedObject): UntypedObject {
  const { served, namespace } = writing
  const name = object.metadata.name || pickName(state, writing, object)
  checkName(served, name)
  if (served.namespaced) checkNamespace(state, served, namespace ?? '', name)
  if (findObject(state, served, namespace, name)) throw alreadyExists(served, name)
  const {
    uid: _uid,
    deletionTimestamp: _deletionTimestamp,
    deletionGracePeriodSeconds: _grace,
    generation: _generation,
    namespace: _namespace,
    resourceVersion: _resourceVersion,
    selfLink: _selfLink,
    ...metadata
  } = object.metadata
  const named: UntypedObject = {
    ...object,
    metadata: {
      ...metadata,
      name,
      ...(served.namespaced && { namespace }),
      uid: state.ids(),
      ...(countsGenerations(served) && { generation: 1 }),
      creationTimestamp: formatTime(state.clock.now()),
    } as UntypedObject['metadata'],
  }
  const prepared = prepareCreate(served, named)
  return served.table === crdTable ? acceptCrd(prepared, state.catalog, state.clock.now()) : prepared
}

/** Nothing is stored by a dry run; its answer has no revision. */
export function storeNew({ storage }: ClusterState, { served, dryRun }: Writing, object: UntypedObject): StoredObject {
  return dryRun ? (object as StoredObject) : storage.put(served.table, object)
}

/** A server tries a few times before it tells the client that its prefix is taken. */
const nameAttempts = 8

function pickName(state: ClusterState, { served, namespace }: Writing, { metadata }: UntypedObject): string {
  if (!metadata.generateName) {
    throw invalid(served, '', [cause.required('metadata.name', 'name or generateName is required')])
  }
  let name = ''
  for (let attempt = 0; attempt < nameAttempts; attempt++) {
    name = generateName(metadata.generateName, state.random)
    if (!findObject(state, served, namespace, name)) return name
  }
  throw alreadyExists(served, name)
}

function checkName(served: Served, name: string): void {
  const problems = nameCheckOf(served)(name)
  if (problems.length === 0) return
  throw invalid(
    served,
    name,
    problems.map((problem) => cause.invalid('metadata.name', `"${name}"`, problem)),
  )
}

function nameCheckOf({ table, group }: Served): NameCheck {
  if (group === 'rbac.authorization.k8s.io') return checkPathSegment
  if (table === 'namespaces') return checkDnsLabel
  return table === 'services' ? checkDns1035Label : checkDnsSubdomain
}

function checkNamespace(state: ClusterState, served: Served, namespace: string, name: string): void {
  const found = state.storage.table('namespaces').get(undefined, namespace)
  if (!found) throw notFound({ group: '', plural: 'namespaces' }, namespace)
  if (!found.metadata.deletionTimestamp) return
  throw forbidden(
    served,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  )
}
