/**
 * PersistentVolumeClaims: what somebody asks for, once. Afterwards only a volume may be bound to it, a class filled in,
 * and a bound claim may grow.
 */
import { equalJson, type Json, type JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { compareQuantities, makeQuantity, parseQuantity } from '../../kube/quantity.ts'
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../kube/types/core/v1.ts'
import { draftOf, type Draft, finished, madePart, part } from './draft.ts'
import type { KindRules } from './kind-rules.ts'
import { checkLabelSelector } from './label-selector.ts'
import { dnsSubdomain } from './name-format.ts'
import {
  eachInvalid,
  fine,
  forbidden,
  immutableDetail,
  invalid,
  type Problems,
  required,
  unsupported,
} from './problem.ts'
import { checkPositiveAmount } from './value-validation.ts'
import { defaultClaimSpec } from './volume-defaults.ts'

const specOf = (object: UntypedObject): PersistentVolumeClaimSpec =>
  (object as unknown as PersistentVolumeClaim).spec ?? {}

const storageOf = (spec: PersistentVolumeClaimSpec): string | undefined =>
  spec.resources?.requests?.['storage'] as string | undefined

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  defaultClaimSpec(madePart(draft, 'spec'))
  madePart(draft, 'status')['phase'] ||= 'Pending'
  return finished(draft)
}

/** A source has two names, of which old clients know one; what that one could never say is dropped. */
function settleSources(spec: Draft, live: PersistentVolumeClaimSpec | undefined): void {
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

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const volumeModes = ['Block', 'Filesystem']

export function* checkAccessModes(modes: readonly string[], field: string): Iterable<Problems[number]> {
  for (const mode of modes) if (!accessModes.includes(mode)) yield unsupported(field, mode, accessModes)
  const known = modes.filter((mode) => accessModes.includes(mode))
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod')) {
    yield forbidden(field, 'may not use ReadWriteOncePod with other access modes')
  }
}

export function checkVolumeMode(mode: string | undefined, field: string): Problems {
  return mode === undefined || volumeModes.includes(mode) ? fine : [unsupported(field, mode, volumeModes)]
}

export function checkClassName(name: string | undefined, field: string): Problems {
  return name ? eachInvalid(field, name, dnsSubdomain(name)) : fine
}

/** Of a claim, or of the template of one. */
export function* checkClaimSpec(spec: PersistentVolumeClaimSpec, at: string): Iterable<Problems[number]> {
  const { accessModes: modes = [], dataSource, dataSourceRef } = spec
  if (modes.length === 0) yield required(`${at}.accessModes`, 'at least 1 access mode is required')
  yield* checkLabelSelector(spec.selector, `${at}.selector`)
  yield* checkAccessModes(modes, `${at}.accessModes`)
  const storage = storageOf(spec)
  if (storage === undefined) yield required(`${at}.resources[storage]`)
  else yield* checkPositiveAmount(storage, `${at}.resources[storage]`)
  yield* checkClassName(spec.storageClassName, `${at}.storageClassName`)
  yield* checkVolumeMode(spec.volumeMode, `${at}.volumeMode`)
  if (dataSource) yield* checkSource(dataSource, `${at}.dataSource`)
  if (dataSourceRef) yield* checkSource(dataSourceRef, `${at}.dataSourceRef`)
  if (dataSource && dataSourceRef) {
    const same = ['apiGroup', 'kind', 'name'] as const
    if (dataSourceRef.namespace) {
      yield invalid(at, {}, 'may not be specified when dataSourceRef.namespace is specified')
    } else if (same.some((member) => (dataSource[member] ?? '') !== (dataSourceRef[member] ?? ''))) {
      yield invalid(at, {}, 'must match dataSourceRef')
    }
  }
  yield* checkClassName(spec.volumeAttributesClassName, `${at}.volumeAttributesClassName`)
}

function* checkSource(
  { name, kind, apiGroup }: { readonly name?: string; readonly kind?: string; readonly apiGroup?: string },
  at: string,
): Iterable<Problems[number]> {
  if (!name) yield required(`${at}.name`)
  if (!kind) yield required(`${at}.kind`)
  if (apiGroup) yield* eachInvalid(`${at}.apiGroup`, apiGroup, dnsSubdomain(apiGroup))
  else if (kind !== 'PersistentVolumeClaim') {
    yield invalid(at, kind ?? '', "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
  }
}

function* checkChange(object: UntypedObject, live: UntypedObject): Iterable<Problems[number]> {
  const spec = specOf(object)
  const before = specOf(live)
  const { status = {} } = live as unknown as PersistentVolumeClaim
  const isBound = status.phase === 'Bound'
  const compared: Draft = { ...(spec as JsonObject) }
  if (!before.volumeName) delete compared['volumeName']
  if (before.storageClassName === undefined) delete compared['storageClassName']
  if (isBound) {
    compared['resources'] = before.resources as Json
    compared['volumeAttributesClassName'] = before.volumeAttributesClassName
  }
  if (!equalJson(compared, before as Json)) {
    const why =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
    yield forbidden('spec', `${why}\n`)
  }
  const size = parseQuantity(storageOf(spec) ?? '0')
  const had = status.capacity?.['storage']
  if (compareQuantities(size, parseQuantity(storageOf(before) ?? '0')) < 0) {
    const field = 'spec.resources.requests.storage'
    if (compareQuantities(size, had === undefined ? makeQuantity(0) : parseQuantity(had)) <= 0) {
      yield forbidden(field, 'field can not be less than status.capacity')
    }
  }
  if (spec.volumeMode !== before.volumeMode) yield invalid('volumeMode', spec.volumeMode, immutableDetail)
  if (status.currentVolumeAttributesClassName !== undefined && !spec.volumeAttributesClassName) {
    const what = spec.volumeAttributesClassName === undefined ? 'nil' : 'empty string'
    const why = `update to ${what} is forbidden when status.currentVolumeAttributesClassName is not nil`
    yield forbidden('spec.volumeAttributesClassName', why)
  }
}

export const persistentVolumeClaimRules: KindRules = {
  defaults,
  prepareCreate(object) {
    const draft = draftOf(object)
    settleSources(madePart(draft, 'spec'), undefined)
    draft['status'] = { phase: 'Pending' }
    return finished(draft)
  },
  prepareUpdate(object, live) {
    const draft = draftOf(object)
    settleSources(madePart(draft, 'spec'), specOf(live))
    return finished(draft)
  },
  validateCreate: (object) => [...checkClaimSpec(specOf(object), 'spec')],
  validateUpdate: (object, live) => [...checkClaimSpec(specOf(object), 'spec'), ...checkChange(object, live)],
}
