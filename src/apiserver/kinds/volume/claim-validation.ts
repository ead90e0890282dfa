/**
 * Validation of a PersistentVolumeClaim's spec: in a claim, in an ephemeral volume of a pod, or in a StatefulSet's
 * template.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkLabels, checkLabelSelector } from '../values/label-selector.ts'
import { dnsSubdomain, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkPositiveAmount } from '../values/value-validation.ts'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const volumeModes = ['Block', 'Filesystem']

export function* checkClaimSpec(spec: PersistentVolumeClaimSpec, field: string): Iterable<Cause> {
  const modes = spec.accessModes ?? []
  if (modes.length === 0) yield requiredField(`${field}.accessModes`, 'at least 1 access mode is required')
  yield* checkLabelSelector(spec.selector, `${field}.selector`)
  yield* checkAccessModes(modes, `${field}.accessModes`)
  const storage = spec.resources?.requests?.['storage']
  const at = `${field}.resources[storage]`
  yield* storage === undefined ? [requiredField(at)] : checkPositiveAmount(String(storage), at)
  yield* checkClassName(spec.storageClassName, `${field}.storageClassName`)
  yield* checkVolumeMode(spec.volumeMode, `${field}.volumeMode`)
  yield* checkSources(spec, field)
  yield* checkClassName(spec.volumeAttributesClassName, `${field}.volumeAttributesClassName`)
}

export function* checkAccessModes(modes: readonly string[], field: string): Iterable<Cause> {
  for (const mode of modes) if (!accessModes.includes(mode)) yield unsupported(field, mode, accessModes)
  const known = modes.filter((mode) => accessModes.includes(mode))
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod')) {
    yield forbiddenField(field, 'may not use ReadWriteOncePod with other access modes')
  }
}

export function checkVolumeMode(mode: string | undefined, field: string): Problems {
  return mode === undefined || volumeModes.includes(mode) ? [] : [unsupported(field, mode, volumeModes)]
}

/** The name of a storage class or an attributes class. */
export function checkClassName(name: string | undefined, field: string): Problems {
  return name ? eachInvalid(field, name, dnsSubdomain(name)) : []
}

/** The initial content of the volume: `dataSource` and its successor `dataSourceRef`. */
function* checkSources({ dataSource, dataSourceRef }: PersistentVolumeClaimSpec, field: string): Iterable<Cause> {
  if (dataSource) yield* checkSource(dataSource, `${field}.dataSource`)
  if (dataSourceRef) yield* checkSource(dataSourceRef, `${field}.dataSourceRef`)
  if (!dataSource || !dataSourceRef) return
  const isSame =
    dataSource.apiGroup === dataSourceRef.apiGroup &&
    dataSource.kind === dataSourceRef.kind &&
    dataSource.name === dataSourceRef.name
  if (dataSourceRef.namespace) {
    yield invalidField(field, nothing, 'may not be specified when dataSourceRef.namespace is specified')
  } else if (!isSame) yield invalidField(field, nothing, 'must match dataSourceRef')
}

/** The server is meant to print a path here, but prints nothing. */
const nothing = {}

interface DataSource {
  readonly apiGroup?: string | null
  readonly kind: string
  readonly name: string
}

function* checkSource({ apiGroup: group, kind, name }: DataSource, field: string): Iterable<Cause> {
  const apiGroup = group ?? ''
  if (!name) yield requiredField(`${field}.name`)
  if (!kind) yield requiredField(`${field}.kind`)
  if (apiGroup === '' && kind !== 'PersistentVolumeClaim') {
    yield invalidField(field, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
  }
  if (apiGroup !== '') yield* eachInvalid(`${field}.apiGroup`, apiGroup, dnsSubdomain(apiGroup))
}

/** The template of an ephemeral volume's claim. Its metadata may hold labels and annotations only. */
export function* checkClaimTemplate({ metadata, spec }: PersistentVolumeClaimTemplate, field: string): Iterable<Cause> {
  yield* checkAnnotations(metadata?.annotations, `${field}.metadata.annotations`)
  yield* checkLabels(metadata?.labels, `${field}.metadata.labels`)
  for (const name of Object.keys(metadata ?? {})) {
    if (name !== 'annotations' && name !== 'labels') yield forbiddenField(`${field}.metadata.${name}`, 'cannot be set')
  }
  yield* checkClaimSpec(spec, `${field}.spec`)
}

const maxAnnotationBytes = 256 * 1024

export function checkAnnotations(annotations: UntypedObject['metadata']['annotations'], field: string): Problems {
  const entries = Object.entries(annotations ?? {})
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  const problems = entries.flatMap(([key]) => eachInvalid(field, key, qualifiedNameProblems(key.toLowerCase())))
  if (size <= maxAnnotationBytes) return problems
  const message = `Too long: may not be more than ${maxAnnotationBytes} bytes`
  return [...problems, { reason: 'FieldValueTooLong', message, field }]
}
