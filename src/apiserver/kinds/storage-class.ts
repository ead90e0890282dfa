/** Classes of volumes (StorageClass) and of what can be changed about them later (VolumeAttributesClass). */
import { equalJson, type Json, stringifyJson } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { TopologySelectorTerm } from '../../kube/types/core/v1.ts'
import type { StorageClass, VolumeAttributesClass } from '../../kube/types/storage/v1.ts'
import { structForm } from '../struct-form.ts'
import { draftOf, fillAbsent, finished } from './draft.ts'
import type { KindRules } from './kind-rules.ts'
import { qualifiedName } from './name-format.ts'
import {
  duplicate,
  eachInvalid,
  fine,
  forbidden,
  immutableDetail,
  invalid,
  type Problems,
  required,
  tooLong,
  unsupported,
} from './problem.ts'
import type { Sent } from './sent.ts'
import { repeatedValues } from './repetition.ts'

function checkProvisioner(name: string | undefined, field: string): Problems {
  const lower = (name ?? '').toLowerCase()
  return lower === '' ? fine : eachInvalid(field, lower, qualifiedName(lower))
}

const mostParameters = 512
const mostBytes = 262_144

function* checkParameters(parameters: Readonly<Record<string, string>>, field: string): Iterable<Problems[number]> {
  const entries = Object.entries(parameters)
  if (entries.length > mostParameters) {
    yield tooLong(field, mostParameters)
    return
  }
  for (const [key] of entries) if (key === '') yield invalid(field, key, 'field can not be empty.')
  const total = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  if (total > mostBytes) yield tooLong(field, mostBytes)
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
  } = object as unknown as Sent<StorageClass>
  yield* checkProvisioner(provisioner, 'provisioner')
  yield* checkParameters(parameters, 'parameters')
  if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy)) {
    yield unsupported('reclaimPolicy', reclaimPolicy, reclaimPolicies)
  }
  if (volumeBindingMode === undefined) yield required('volumeBindingMode')
  else if (!bindingModes.includes(volumeBindingMode)) {
    yield unsupported('volumeBindingMode', volumeBindingMode, bindingModes)
  }
  yield* checkTopologies(allowedTopologies)
  if (!provisioner) yield required('provisioner')
}

function* checkTopologies(terms: readonly Sent<TopologySelectorTerm>[]): Iterable<Problems[number]> {
  const seen = new Set<string>()
  for (const [index, { matchLabelExpressions = [] }] of terms.entries()) {
    const at = `allowedTopologies[${index}].matchLabelExpressions`
    const keys = new Set<string>()
    for (const [place, { key = '', values = [] }] of matchLabelExpressions.entries()) {
      if (values.length === 0) yield required(`${at}[${place}].values`)
      for (const position of repeatedValues(values)) {
        yield duplicate(`${at}[${place}].values[${position}]`, values[position]!)
      }
      yield* eachInvalid(`${at}[${place}].key`, key, qualifiedName(key))
      if (keys.has(key)) yield duplicate(`${at}[${place}].key`, key)
      keys.add(key)
    }
    const parts = matchLabelExpressions.map(({ key, values = [] }) => stringifyJson([key ?? '', ...values.toSorted()]))
    const whole = parts.toSorted().join()
    // One that says nothing is the same as none.
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
      .map((member) => invalid(member, null, immutableDetail)),
  ],
}

function* checkAttributes(object: UntypedObject): Iterable<Problems[number]> {
  const { driverName, parameters = {} } = object as unknown as Sent<VolumeAttributesClass>
  yield* driverName ? checkProvisioner(driverName, 'driverName') : [required('driverName')]
  yield* checkParameters(parameters, 'parameters')
  if (Object.keys(parameters).length === 0) yield required('parameters', 'must contain at least one key/value pair')
}

export const volumeAttributesClassRules: KindRules = {
  defaults: structForm,
  validateCreate: (object) => [...checkAttributes(object)],
  validateUpdate: (object, live) => [
    ...['driverName', 'parameters']
      .filter((member) => !equalJson(object[member] as Json | undefined, live[member] as Json | undefined))
      .map((member) => forbidden(member, `updates to ${member} are forbidden.`)),
    ...checkAttributes(object),
  ],
}
