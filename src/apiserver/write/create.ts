/** Create: validates a new object, and sets its name and all fields that the server controls. */
import { formatTime } from '../../kube/units/duration.ts'
import type { Json } from '../../kube/json.ts'
import { generateName } from '../../kube/meta/name.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { admitObject, checkAdmission, settleAdmission } from '../cluster/admission.ts'
import { isDefinedAsBefore, type ServedResource } from '../catalog/catalog.ts'
import { finalizerWarnings } from '../crd/finalizer-warnings.ts'
import { asStored, putWithEmptyMetadata, withoutEmptyMetadata } from './empty-metadata.ts'
import { rulesOf } from './kinds.ts'
import { canonicalIp } from '../errors/ip-address.ts'
import { dnsLabel, dnsSubdomain, type FormatCheck, pathSegment } from '../../kube/validation/name-validation.ts'
import { eachInvalid, type Problems, requiredField } from '../../kube/validation/field-error.ts'
import { metadataProblems } from '../../kube/validation/object-meta.ts'
import { alreadyExists, forbidden, invalid, noSuchResource, StatusError } from '../errors/status-error.ts'
import { type ClusterState, findObject } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { storedForm, zeroOf } from '../codec/struct-form.ts'
import { checksMetadataLast, countsGenerations, hasFreeFinalizers } from '../kinds/strategy/strategy.ts'
import { oneAtVersion } from '../catalog/versions.ts'
import {
  admissionOf,
  checkIdentity,
  decode,
  kindContext,
  recordUpdate,
  schemaCauses,
  withDefaults,
  type Writing,
} from './writing.ts'

/** `isPlain`: a POST, not an update or apply that creates the object. */
export async function create(state: ClusterState, writing: Writing, body: Json, isPlain = true): Promise<StoredObject> {
  const object = decode(writing, body)
  checkIdentity(writing, object)
  const clean = withoutSystemFields(writing, object)
  const owned = recordUpdate(state, writing, undefined, clean)
  return await createOwned(state, writing, owned, isPlain)
}

/**
 * The second half of a create, once managedFields are set: the same for POST and for an apply that creates the object.
 */
export async function createOwned(
  state: ClusterState,
  writing: Writing,
  owned: UntypedObject,
  isPlain: boolean,
): Promise<StoredObject> {
  const { served, namespace, dryRun } = writing
  const asked = admissionOf(writing, 'CREATE')
  const sent = owned.metadata.name ?? ''
  checkDefinition(state, served, sent)
  const admitting = admitObject(state, { ...asked, name: sent, object: owned, oldObject: undefined })
  const admitted = admitting instanceof Promise ? await admitting : admitting
  const defaulted = admitted === owned ? owned : withDefaults(served, admitted)
  const prepared = prepareNew(state, writing, withSystemFields(state, writing, defaulted))
  const name = prepared.metadata.name ?? ''
  checkNew(state, writing, prepared)
  const checking = checkAdmission(state, { ...asked, name, object: prepared, oldObject: undefined })
  if (checking) await checking
  const kept = oneAtVersion(prepared, served, served.storedAs)
  const stored = asStored(served, kept instanceof Promise ? await kept : kept)
  // Nothing is awaited from here on, so that what is checked now still holds when the object is stored.
  checkDefinition(state, served, name)
  settleAdmission(state, { ...asked, name, object: prepared, oldObject: undefined })
  if (isPlain && !dryRun && Number(prepared.metadata.resourceVersion ?? 0) > 0) {
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created')
  }
  const known = findObject(state, served, namespace, name)
  if (known) throw alreadyExists(served, name, known.metadata.deletionTimestamp !== undefined)
  // A dry run stores nothing; its answer has no resourceVersion, or the one that the client sent.
  if (dryRun) return (served.custom ? withoutEmptyMetadata(stored) : stored) as StoredObject
  const put = (one: UntypedObject): StoredObject => state.storage.put(served.table, one)
  return served.custom ? putWithEmptyMetadata(stored, put) : put(stored)
}

/** The CRD may have been deleted or replaced since the request began: then the object must not be stored. */
function checkDefinition({ catalog }: ClusterState, served: ServedResource, name: string): void {
  if (!isDefinedAsBefore(catalog, served)) throw noSuchResource()
  if (catalog.ofTable(served.table)?.isTerminating) {
    throw forbidden(served, name, 'create not allowed while custom resource definition is terminating')
  }
}

/** The object without the fields that the server controls: this is what admission gets. */
export function withoutSystemFields({ served, namespace }: Writing, object: UntypedObject): UntypedObject {
  const {
    uid: _uid,
    deletionTimestamp: _deletionTimestamp,
    deletionGracePeriodSeconds: _grace,
    namespace: _namespace,
    selfLink: _selfLink,
    creationTimestamp: _created,
    ...metadata
  } = object.metadata
  return { ...object, metadata: { ...metadata, ...(served.namespaced && { namespace }) } as UntypedObject['metadata'] }
}

/** The object with name, uid and creationTimestamp. */
function withSystemFields(state: ClusterState, writing: Writing, object: UntypedObject): UntypedObject {
  const { generation, name, ...metadata } = object.metadata
  const settled = name || pickName(state, writing, object)
  return {
    ...object,
    metadata: {
      ...(settled !== '' && { name: settled }),
      ...metadata,
      // Kinds without generation keep the value that the client sent.
      ...(generation !== undefined && !countsGenerations(writing.served) && { generation }),
      uid: state.ids(),
      creationTimestamp: formatTime(state.clock.now()),
    },
  }
}

/** The initial state: without the status that the client sent, and with the initial values of the kind. */
function prepareNew(state: ClusterState, writing: Writing, object: UntypedObject): UntypedObject {
  const { served } = writing
  const whole = served.custom ? object : storedForm(object)
  // Nodes register themselves, including their status.
  const clean = served.hasStatus && served.table !== 'nodes' ? withNoStatus(served, whole) : whole
  const counted: UntypedObject = countsGenerations(served)
    ? { ...clean, metadata: { ...clean.metadata, generation: 1 } }
    : clean
  const { prepareCreate } = rulesOf(served.table)
  return prepareCreate ? prepareCreate(counted, kindContext(state, writing)) : counted
}

/** The empty status: the fields that Go serializes even when empty. */
function withNoStatus({ custom }: ServedResource, { status: _status, ...rest }: UntypedObject): UntypedObject {
  const object = rest as UntypedObject
  const status = custom ? undefined : zeroOf(object.apiVersion, object.kind, 'status')
  return status === undefined ? object : { ...object, status }
}

function checkNew(state: ClusterState, writing: Writing, object: UntypedObject): void {
  const { served } = writing
  const { name = '' } = object.metadata
  const rules = served.custom ? {} : rulesOf(served.table)
  const own = rules.validateCreate?.(object, kindContext(state, writing)) ?? []
  if (checksMetadataLast(served) && own.length > 0) throw invalid(served, name, own)
  const found = [...nameProblems(served, object), ...metadataProblems(object.metadata, hasFreeFinalizers(served))]
  const causes = [...found, ...schemaCauses(writing, object, undefined, found), ...own]
  if (causes.length > 0) throw invalid(served, name, causes)
  const warnings = served.custom ? finalizerWarnings(object, undefined) : rules.warnings?.(object, undefined)
  for (const warning of warnings ?? []) writing.warn(warning)
}

/** How often a generated name is tried before the client gets a conflict. */
const nameAttempts = 8

/** Empty when there is neither name nor generateName: validation reports it. */
function pickName(state: ClusterState, { served, namespace }: Writing, { metadata }: UntypedObject): string {
  // Only LimitRanges need no name.
  if (!metadata.generateName) return served.table === 'limitranges' ? state.ids() : ''
  let name = ''
  for (let attempt = 0; attempt < nameAttempts; attempt++) {
    name = generateName(metadata.generateName, state.random)
    if (!findObject(state, served, namespace, name)) return name
  }
  throw alreadyExists(served, name)
}

function nameProblems(served: ServedResource, { metadata }: UntypedObject): Problems {
  const { name, generateName: base } = metadata
  const format = nameFormatOf(served)
  const prefix = format === pathSegment ? base : base?.replace(/.-$/s, 'a')
  return [
    // The real server validates a generated name of a ReplicationController only as a whole.
    ...(served.table === 'replicationcontrollers'
      ? []
      : eachInvalid('metadata.generateName', base ?? '', prefix ? format(prefix) : [])),
    ...(name
      ? eachInvalid('metadata.name', name, format(name))
      : [requiredField('metadata.name', 'name or generateName is required')]),
  ]
}

function nameFormatOf({ table, group }: ServedResource): FormatCheck {
  if (group === 'rbac.authorization.k8s.io') return pathSegment
  if ((table === 'events' && group === '') || table === 'poddisruptionbudgets.policy') return pathSegment
  if (group === 'certificates.k8s.io' || group === 'apiregistration.k8s.io') return pathSegment
  if (table === 'namespaces') return dnsLabel
  if (table === 'ipaddresses.networking.k8s.io') return canonicalIp
  return table === 'services' || table === 'statefulsets.apps' ? dnsLabel : dnsSubdomain
}
