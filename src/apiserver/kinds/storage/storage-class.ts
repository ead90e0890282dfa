/** StorageClass, a class of volumes, and VolumeAttributesClass, a class of their mutable attributes. */
import { equalJson, type Json, stringifyJson } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { TopologySelectorTerm } from '../../../kube/types/core/v1.ts'
import type { StorageClass, VolumeAttributesClass } from '../../../kube/types/storage/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import { draftOf, fillAbsent, finished } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  noErrors,
  forbiddenField,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'
import { repeatedValues } from '../../../kube/validation/repetition.ts'

function checkProvisioner(name: string | undefined, field: string): Problems {
  const lower = (name ?? '').toLowerCase()
  return lower === '' ? noErrors : eachInvalid(field, lower, qualifiedNameProblems(lower))
}

const maxParameters = 512
const maxBytes = 262_144

function* checkParameters(parameters: Readonly<Record<string, string>>, field: string): Iterable<Problems[number]> {
  const entries = Object.entries(parameters)
  if (entries.length > maxParameters) {
    yield tooLong(field, maxParameters)
    return
  }
  for (const [key] of entries) if (key === '') yield invalidField(field, key, 'field can not be empty.')
  const total = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  if (total > maxBytes) yield tooLong(field, maxBytes)
}

const reclaimPolicies = ['Delete', 'Retain']
const bindingModes = ['Immediate', 'WaitForFirstConsumer']

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const {
    provisioner,
    parameters = {},
    reclaimPolicy,
    volumeBindingMode,
    allowedTopologies = [],
  } = object as unknown as SentObject<StorageClass>
  yield* checkProvisioner(provisioner, 'provisioner')
  yield* checkParameters(parameters, 'parameters')
  if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy)) {
    yield unsupported('reclaimPolicy', reclaimPolicy, reclaimPolicies)
  }
  if (volumeBindingMode === undefined) yield requiredField('volumeBindingMode')
  else if (!bindingModes.includes(volumeBindingMode)) {
    yield unsupported('volumeBindingMode', volumeBindingMode, bindingModes)
  }
  yield* checkTopologies(allowedTopologies)
  if (!provisioner) yield requiredField('provisioner')
}

function* checkTopologies(terms: readonly SentObject<TopologySelectorTerm>[]): Iterable<Problems[number]> {
  const seen = new Set<string>()
  for (const [index, { matchLabelExpressions = [] }] of terms.entries()) {
    const at = `allowedTopologies[${index}].matchLabelExpressions`
    const keys = new Set<string>()
    for (const [place, { key = '', values = [] }] of matchLabelExpressions.entries()) {
      if (values.length === 0) yield requiredField(`${at}[${place}].values`)
      for (const position of repeatedValues(values)) {
        yield duplicate(`${at}[${place}].values[${position}]`, values[position]!)
      }
      yield* eachInvalid(`${at}[${place}].key`, key, qualifiedNameProblems(key))
      if (keys.has(key)) yield duplicate(`${at}[${place}].key`, key)
      keys.add(key)
    }
    const parts = matchLabelExpressions.map(({ key, values = [] }) => stringifyJson([key ?? '', ...values.toSorted()]))
    const whole = parts.toSorted().join()
    // An empty term counts as a duplicate.
    if (whole === '' || seen.has(whole)) yield duplicate(at, '')
    seen.add(whole)
  }
}

export const storageClassRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    fillAbsent(draft, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' })
    return finished(draft)
  },
  validateCreate: (object) => [...check(object)],
  validateUpdate: (object, live) => [
    ...check(object),
    ...['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode']
      .filter((member) => !equalJson(object[member] as Json | undefined, live[member] as Json | undefined))
      .map((member) => invalidField(member, null, immutableDetail)),
  ],
}

function* checkAttributes(object: UntypedObject): Iterable<Problems[number]> {
  const { driverName, parameters = {} } = object as unknown as SentObject<VolumeAttributesClass>
  yield* driverName ? checkProvisioner(driverName, 'driverName') : [requiredField('driverName')]
  yield* checkParameters(parameters, 'parameters')
  if (Object.keys(parameters).length === 0)
    yield requiredField('parameters', 'must contain at least one key/value pair')
}

export const volumeAttributesClassRules: KindRules = {
  defaults: structForm,
  validateCreate: (object) => [...checkAttributes(object)],
  validateUpdate: (object, live) => [
    ...['driverName', 'parameters']
      .filter((member) => !equalJson(object[member] as Json | undefined, live[member] as Json | undefined))
      .map((member) => forbiddenField(member, `updates to ${member} are forbidden.`)),
    ...checkAttributes(object),
  ],
}
