/** Create: an object that is new to this cluster gets a name, and all that the server alone gives. */
import { formatTime } from '../kube/duration.ts'
import type { Json } from '../kube/json.ts'
import { generateName } from '../kube/name.ts'
import type { UntypedObject } from '../kube/object.ts'
import { admitObject, checkAdmission, settleAdmission } from './admission/admission.ts'
import type { Served } from './catalog.ts'
import { finalizerWarnings } from './crd/finalizer-warnings.ts'
import { rulesOf } from './kinds/kinds.ts'
import { canonicalIp } from './kinds/ip-address.ts'
import { dnsLabel, dnsSubdomain, type FormatCheck, pathSegment } from './kinds/name-format.ts'
import { eachInvalid, type Problems, required } from './kinds/problem.ts'
import { metadataProblems } from './object-meta.ts'
import { alreadyExists, forbidden, invalid, Refusal } from './refusal.ts'
import { type ClusterState, findObject } from './state.ts'
import type { StoredObject } from './storage.ts'
import { storedForm } from './struct-form.ts'
import { checksMetadataLast, countsGenerations, hasFreeFinalizers } from './strategy.ts'
import { oneAtVersion } from './versions.ts'
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

export async function create(state: ClusterState, writing: Writing, body: Json): Promise<StoredObject> {
  const object = decode(writing, body)
  checkIdentity(writing, object)
  if (object.metadata.resourceVersion) {
    throw new Refusal(500, '', 'resourceVersion should not be set on objects to be created')
  }
  const named = withSystemFields(state, writing, object)
  const owned = recordUpdate(state, writing, undefined, named)
  return await createOwned(state, writing, owned)
}

/** What follows when it is known who owns which field: the same for a create, and for an apply of what is not there. */
export async function createOwned(state: ClusterState, writing: Writing, owned: UntypedObject): Promise<StoredObject> {
  const { served, namespace, dryRun } = writing
  const asked = admissionOf(writing, 'CREATE')
  const name = owned.metadata.name ?? ''
  if (served.isTerminating) {
    throw forbidden(served, name, 'create not allowed while custom resource definition is terminating')
  }
  const admitted = await admitObject(state, { ...asked, name, object: owned, oldObject: undefined })
  const defaulted = admitted === owned ? owned : withDefaults(served, admitted)
  const prepared = prepareNew(state, writing, defaulted)
  checkNew(state, writing, prepared)
  await checkAdmission(state, { ...asked, name, object: prepared, oldObject: undefined })
  const stored = await oneAtVersion(prepared, served, served.storedAs)
  settleAdmission(state, { ...asked, name, object: prepared, oldObject: undefined })
  const known = findObject(state, served, namespace, prepared.metadata.name ?? '')
  if (known) throw alreadyExists(served, prepared.metadata.name ?? '', known.metadata.deletionTimestamp !== undefined)
  // Nothing is stored by a dry run; its answer has no revision.
  return dryRun ? (stored as StoredObject) : state.storage.put(served.table, stored)
}

/** The object with its name, its uid and the time. */
export function withSystemFields(state: ClusterState, writing: Writing, object: UntypedObject): UntypedObject {
  const { served, namespace } = writing
  const {
    uid: _uid,
    deletionTimestamp: _deletionTimestamp,
    deletionGracePeriodSeconds: _grace,
    generation,
    namespace: _namespace,
    resourceVersion: _resourceVersion,
    selfLink: _selfLink,
    creationTimestamp: _created,
    name,
    ...metadata
  } = object.metadata
  const settled = name || pickName(state, writing, object)
  return {
    ...object,
    metadata: {
      ...(settled !== '' && { name: settled }),
      ...metadata,
      // Where nobody counts, whatever is sent stays.
      ...(generation !== undefined && !countsGenerations(served) && { generation }),
      ...(served.namespaced && { namespace }),
      uid: state.ids(),
      creationTimestamp: formatTime(state.clock.now()),
    } as UntypedObject['metadata'],
  }
}

/** The first state of the object: without what others report about it, and with what its kind starts out with. */
function prepareNew(state: ClusterState, writing: Writing, object: UntypedObject): UntypedObject {
  const { served } = writing
  const whole = served.custom ? object : storedForm(object)
  // Nodes register themselves, status and all.
  const { status: _status, ...rest } = whole
  const clean = served.hasStatus && served.table !== 'nodes' ? (rest as UntypedObject) : whole
  const counted: UntypedObject = countsGenerations(served)
    ? { ...clean, metadata: { ...clean.metadata, generation: 1 } }
    : clean
  const { prepareCreate } = rulesOf(served.table)
  return prepareCreate ? prepareCreate(counted, kindContext(state, writing)) : counted
}

function checkNew(state: ClusterState, writing: Writing, object: UntypedObject): void {
  const { served } = writing
  const { name = '' } = object.metadata
  const rules = served.custom ? {} : rulesOf(served.table)
  const own = rules.validateCreate?.(object, kindContext(state, writing)) ?? []
  if (checksMetadataLast(served) && own.length > 0) throw invalid(served, name, own)
  const causes = [
    ...nameProblems(served, object),
    ...metadataProblems(object.metadata, hasFreeFinalizers(served)),
    ...schemaCauses(writing, object, undefined),
    ...own,
  ]
  if (causes.length > 0) throw invalid(served, name, causes)
  const warnings = served.custom ? finalizerWarnings(object, undefined) : rules.warnings?.(object, undefined)
  for (const warning of warnings ?? []) writing.warn(warning)
}

/** A server tries a few times before it tells the client that its prefix is taken. */
const nameAttempts = 8

/** Empty when there is nothing to generate it from: then validation says so. */
function pickName(state: ClusterState, { served, namespace }: Writing, { metadata }: UntypedObject): string {
  if (!metadata.generateName) return ''
  let name = ''
  for (let attempt = 0; attempt < nameAttempts; attempt++) {
    name = generateName(metadata.generateName, state.random)
    if (!findObject(state, served, namespace, name)) return name
  }
  throw alreadyExists(served, name)
}

function nameProblems(served: Served, { metadata }: UntypedObject): Problems {
  const { name, generateName: base } = metadata
  const format = nameFormatOf(served)
  const prefix = format === pathSegment ? base : base?.replace(/.-$/s, 'a')
  return [
    ...eachInvalid('metadata.generateName', base ?? '', prefix ? format(prefix) : []),
    ...(name
      ? eachInvalid('metadata.name', name, format(name))
      : [required('metadata.name', 'name or generateName is required')]),
  ]
}

function nameFormatOf({ table, group }: Served): FormatCheck {
  if (group === 'rbac.authorization.k8s.io') return pathSegment
  if (table === 'events' || table === 'limitranges') return pathSegment
  if (group === 'certificates.k8s.io' || group === 'apiregistration.k8s.io') return pathSegment
  if (table === 'namespaces') return dnsLabel
  if (table === 'ipaddresses.networking.k8s.io') return canonicalIp
  return table === 'services' || table === 'statefulsets.apps' ? dnsLabel : dnsSubdomain
}
