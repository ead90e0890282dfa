/**
 * CSI: the capabilities of drivers (CSIDriver), the drivers of a node (CSINode), free capacity (CSIStorageCapacity).
 */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type {
  CSIDriver,
  CSIDriverSpec,
  CSINode,
  CSINodeDriver,
  CSIStorageCapacity,
} from '../../../kube/types/storage/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import { checkCsiDriverName } from '../values/csi-driver-name.ts'
import { draftOf, fillAbsent, finished, ensurePart } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabelSelector } from '../values/label-selector.ts'
import { dnsSubdomain, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'
import { checkAmount, checkNotNegative } from '../values/value-validation.ts'
import { repeatedValues, repetitions } from '../../../kube/validation/repetition.ts'

const driverSpecOf = (object: UntypedObject): SentObject<CSIDriverSpec> =>
  (object as unknown as SentObject<CSIDriver>).spec ?? {}

const groupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType']
const lifecycleModes = ['Persistent', 'Ephemeral']
const shortestToken = 600
const longestToken = 2 ** 32

function* checkDriver(object: UntypedObject): Iterable<Problems[number]> {
  const spec = driverSpecOf(object)
  const { fsGroupPolicy, tokenRequests = [], volumeLifecycleModes = [] } = spec
  const { nodeAllocatableUpdatePeriodSeconds: period, serviceAccountTokenInSecrets: inSecrets } = spec
  if (fsGroupPolicy !== undefined && !groupPolicies.includes(fsGroupPolicy)) {
    yield unsupported('spec.fsGroupPolicy', fsGroupPolicy, groupPolicies)
  }
  const repeated = repetitions(tokenRequests, ({ audience }) => audience)
  for (const [index, { audience, expirationSeconds: seconds }] of tokenRequests.entries()) {
    const at = `spec.tokenRequests[${index}]`
    if (repeated.has(index)) {
      yield duplicate(`${at}.audience`, audience)
    } else if (seconds !== undefined && seconds < shortestToken) {
      yield invalidField(`${at}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes')
    } else if (seconds !== undefined && seconds > longestToken) {
      yield invalidField(`${at}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds')
    }
  }
  for (const mode of volumeLifecycleModes) {
    if (!lifecycleModes.includes(mode)) yield unsupported('spec.volumeLifecycleModes', mode, lifecycleModes)
  }
  if (period !== undefined && period < 10) {
    yield invalidField('spec.nodeAllocatableUpdatePeriodSeconds', period, 'must be greater than or equal to 10 seconds')
  }
  if (inSecrets !== undefined && tokenRequests.length === 0) {
    const why = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified'
    yield invalidField('spec.serviceAccountTokenInSecrets', inSecrets, why)
  }
}

function* checkDriverChange(
  spec: SentObject<CSIDriverSpec>,
  live: SentObject<CSIDriverSpec>,
): Iterable<Problems[number]> {
  const { attachRequired, volumeLifecycleModes = [] } = spec
  // The real server reports this field under a different name.
  if (attachRequired !== live.attachRequired)
    yield invalidField('spec.attachedRequired', attachRequired, immutableDetail)
  if (String(volumeLifecycleModes) !== String(live.volumeLifecycleModes ?? [])) {
    yield invalidField('spec.volumeLifecycleModes', volumeLifecycleModes, immutableDetail)
  }
}

export const csiDriverRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    fillAbsent(ensurePart(draft, 'spec'), {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      volumeLifecycleModes: ['Persistent'],
      requiresRepublish: false,
      seLinuxMount: false,
      preventPodSchedulingIfMissing: false,
    })
    return finished(draft)
  },
  /** Generations start with the first change. */
  prepareUpdate: (object, live) =>
    equalJson(object['spec'] as Json, live['spec'] as Json)
      ? object
      : { ...object, metadata: { ...object.metadata, generation: (live.metadata.generation ?? 0) + 1 } },
  validateCreate: (object) => [...checkDriver(object)],
  validateUpdate: (object, live) => [
    ...checkDriver(object),
    ...checkDriverChange(driverSpecOf(object), driverSpecOf(live)),
  ],
  warnings(object, live) {
    const { tokenRequests = [], serviceAccountTokenInSecrets } = driverSpecOf(object)
    const isOld = live !== undefined && equalJson(tokenRequests, driverSpecOf(live).tokenRequests ?? [])
    return !isOld && tokenRequests.length > 0 && serviceAccountTokenInSecrets === undefined
      ? [
          'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
        ]
      : []
  },
}

const driversOf = (object: UntypedObject): readonly SentObject<CSINodeDriver>[] =>
  (object as unknown as SentObject<CSINode>).spec?.drivers ?? []

const longestNodeId = 192

function* checkNode(object: UntypedObject): Iterable<Problems[number]> {
  const drivers = driversOf(object)
  const repeated = repetitions(drivers, ({ name }) => name)
  for (const [index, { name, nodeID = '', allocatable, topologyKeys = [] }] of drivers.entries()) {
    const at = `spec.drivers[${index}]`
    yield* checkCsiDriverName(name, `${at}.name`)
    if (nodeID === '') yield requiredField(`${at}.nodeID`)
    if (Buffer.byteLength(nodeID) > longestNodeId) {
      yield invalidField(`${at}.nodeID`, nodeID, `must be ${longestNodeId} characters or less`)
    }
    yield* checkNotNegative(allocatable?.count, `${at}.allocatable.count`)
    if (repeated.has(index)) yield duplicate(`${at}.name`, name)
    const repeatedKeys = repeatedValues(topologyKeys)
    for (const [place, key] of topologyKeys.entries()) {
      if (key === '') yield requiredField(at)
      if (repeatedKeys.has(place)) yield duplicate(at, key)
      yield* eachInvalid(at, key, qualifiedNameProblems(key))
    }
  }
}

/** Drivers of a node are immutable, except for the number of volumes they allow. */
function* checkNodeChange(
  drivers: readonly SentObject<CSINodeDriver>[],
  live: readonly SentObject<CSINodeDriver>[],
): Iterable<Problems[number]> {
  for (const before of live) {
    for (const { name: Name, nodeID: NodeID, topologyKeys: keys } of drivers) {
      if (Name !== before.name) continue
      if (NodeID === before.nodeID && equalJson(keys, before.topologyKeys)) continue
      yield invalidField(
        'spec.drivers',
        { Name, NodeID, TopologyKeys: keys ?? null, Allocatable: null },
        immutableDetail,
      )
    }
  }
}

export const csiNodeRules: KindRules = {
  defaults: structForm,
  prepareCreate: structForm,
  validateCreate: (object) => [...checkNode(object)],
  validateUpdate: (object, live) => [...checkNode(object), ...checkNodeChange(driversOf(object), driversOf(live))],
}

function checkCapacity(object: UntypedObject): Problems {
  const { nodeTopology, storageClassName = '', capacity } = object as unknown as SentObject<CSIStorageCapacity>
  return [
    ...checkLabelSelector(nodeTopology, 'nodeTopology'),
    ...eachInvalid('storageClassName', storageClassName, dnsSubdomain(storageClassName)),
    ...(capacity === undefined ? [] : checkAmount(String(capacity), 'capacity')),
  ]
}

export const csiStorageCapacityRules: KindRules = {
  defaults: structForm,
  validateCreate: checkCapacity,
  validateUpdate: (object, live) => [
    ...checkCapacity(object),
    ...['nodeTopology', 'storageClassName']
      .filter((member) => !equalJson(object[member] as Json | undefined, live[member] as Json | undefined))
      .map((member) =>
        invalidField(member, object[member] ?? (member === 'storageClassName' ? '' : null), immutableDetail),
      ),
  ],
}
