/**
 * PersistentVolumeClaims: the spec is immutable, except that a volume may be bound, a class set, and a bound claim may
 * grow.
 */
import { equalJson, isJsonObject, type Json, type JsonObject, stringifyJson } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import { compareQuantities, makeQuantity, parseQuantity } from '../../../kube/units/quantity.ts'
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../../kube/types/core/v1.ts'
import { checkClaimSpec } from '../volume/claim-validation.ts'
import { draftOf, type Draft, finished, ensurePart, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { forbiddenField, immutableDetail, invalidField, type Problems } from '../../../kube/validation/field-error.ts'
import { unifiedDiff } from '../values/unified-diff.ts'
import { defaultClaimSpec } from '../volume/volume-defaults.ts'

const specOf = (object: UntypedObject): PersistentVolumeClaimSpec =>
  (object as unknown as PersistentVolumeClaim).spec ?? {}

const storageOf = (spec: PersistentVolumeClaimSpec): string | undefined =>
  spec.resources?.requests?.['storage'] as string | undefined

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  defaultClaimSpec(ensurePart(draft, 'spec'))
  ensurePart(draft, 'status')['phase'] ||= 'Pending'
  return finished(draft)
}

/**
 * `dataSource` and `dataSourceRef` are kept in sync; a `dataSource` that the older field does not support is dropped.
 */
function syncDataSources(spec: Draft, live: PersistentVolumeClaimSpec | undefined): void {
  const hadSource = live?.dataSource !== undefined || live?.dataSourceRef !== undefined
  if (part(spec, 'dataSourceRef')?.['namespace'] && live?.dataSourceRef === undefined) delete spec['dataSourceRef']
  const source = part(spec, 'dataSource')
  const reference = part(spec, 'dataSourceRef')
  if (source && !reference && !hadSource && !isClaimOrSnapshot(source)) delete spec['dataSource']
  else if (source && !reference) spec['dataSourceRef'] = { ...source }
  else if (reference && !source && !reference['namespace']) spec['dataSource'] = { ...reference }
}

function isClaimOrSnapshot({ apiGroup, kind, name }: JsonObject): boolean {
  if (!name) return false
  if (kind === 'PersistentVolumeClaim') return !apiGroup
  return kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io'
}

/** The spec as Go's struct, for an error message. */
function goForm(spec: PersistentVolumeClaimSpec): Draft {
  const { dataSource, dataSourceRef } = spec
  const sourceOf = ({ apiGroup, kind, name }: NonNullable<typeof dataSource>): Draft => ({
    APIGroup: apiGroup ?? null,
    Kind: kind,
    Name: name,
  })
  return {
    AccessModes: spec.accessModes ?? null,
    Selector: (spec.selector ?? null) as Json,
    Resources: {
      Limits: (spec.resources?.limits ?? null) as Json,
      Requests: (spec.resources?.requests ?? null) as Json,
    },
    VolumeName: spec.volumeName ?? '',
    StorageClassName: spec.storageClassName ?? null,
    VolumeMode: spec.volumeMode ?? null,
    DataSource: dataSource ? sourceOf(dataSource) : null,
    DataSourceRef: dataSourceRef ? { ...sourceOf(dataSourceRef), Namespace: dataSourceRef.namespace ?? null } : null,
    VolumeAttributesClassName: spec.volumeAttributesClassName ?? null,
  }
}

function* checkChange(object: UntypedObject, live: UntypedObject): Iterable<Problems[number]> {
  const spec = specOf(object)
  const before = specOf(live)
  const { status = {} } = live as unknown as PersistentVolumeClaim
  const isBound = status.phase === 'Bound'
  const was = goForm({ ...before, ...(!before.volumeName && spec.volumeName && { volumeName: spec.volumeName }) })
  const will = goForm(spec)
  if (before.storageClassName === undefined) will['StorageClassName'] = null
  if (isBound) {
    const { Limits, Requests } = will['Resources'] as JsonObject
    const requested = (was['Resources'] as JsonObject)['Requests'] as JsonObject | null
    will['Resources'] = { Limits, Requests: isJsonObject(Requests) ? { ...Requests, ...requested } : requested }
    will['VolumeAttributesClassName'] = was['VolumeAttributesClassName']
  }
  if (!equalJson(was, will)) {
    const why =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
    yield forbiddenField('spec', `${why}\n${unifiedDiff(stringifyJson(was, 1), stringifyJson(will, 1))}`)
  }
  const size = parseQuantity(storageOf(spec) ?? '0')
  const had = status.capacity?.['storage']
  if (compareQuantities(size, parseQuantity(storageOf(before) ?? '0')) < 0) {
    const field = 'spec.resources.requests.storage'
    if (compareQuantities(size, had === undefined ? makeQuantity(0) : parseQuantity(had)) <= 0) {
      yield forbiddenField(field, 'field can not be less than status.capacity')
    }
  }
  if (spec.volumeMode !== before.volumeMode) yield invalidField('volumeMode', spec.volumeMode, immutableDetail)
  if (status.currentVolumeAttributesClassName !== undefined && !spec.volumeAttributesClassName) {
    const what = spec.volumeAttributesClassName === undefined ? 'nil' : 'empty string'
    const why = `update to ${what} is forbidden when status.currentVolumeAttributesClassName is not nil`
    yield forbiddenField('spec.volumeAttributesClassName', why)
  }
}

function* checkStatus(object: UntypedObject): Iterable<Problems[number]> {
  const { capacity = {}, allocatedResources = {} } = (object as unknown as PersistentVolumeClaim).status ?? {}
  for (const [field, amounts] of Object.entries({ capacity, allocatedResources })) {
    for (const [name, amount] of Object.entries(amounts)) {
      const shown = parseQuantity(amount)
      if (compareQuantities(shown, makeQuantity(0)) >= 0) continue
      yield invalidField(`status.${field}[${name}]`, numberOf(amount as string), 'must be a valid resource quantity')
    }
  }
}

/** Quantities are printed as they are written, without quotes. */
function numberOf(amount: string): unknown {
  return Number.isNaN(Number(amount)) ? amount : Number(amount)
}

export const persistentVolumeClaimRules: KindRules = {
  defaults,
  prepareCreate(object) {
    const draft = draftOf(object)
    syncDataSources(ensurePart(draft, 'spec'), undefined)
    draft['status'] = { phase: 'Pending' }
    return finished(draft)
  },
  prepareUpdate(object, live) {
    const draft = draftOf(object)
    syncDataSources(ensurePart(draft, 'spec'), specOf(live))
    return finished(draft)
  },
  validateCreate: (object) => [...checkClaimSpec(specOf(object), 'spec')],
  validateStatus: (object) => [...checkStatus(object)],
  validateUpdate: (object, live) => [...checkClaimSpec(specOf(object), 'spec'), ...checkChange(object, live)],
}
