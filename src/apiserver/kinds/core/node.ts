/** Nodes register themselves, including their status. `podCIDR` and `providerID` are immutable once set. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { Node, NodeSpec, Taint } from '../../../kube/types/core/v1.ts'
import { roundResources } from '../container/container-defaults.ts'
import { draftOf, finished, ensurePart, part } from '../strategy/draft.ts'
import { checkCidr, parseCidr } from '../../errors/ip-address.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { labelValue, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  noErrors,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkResourceAmount } from '../container/resource-validation.ts'
import { repetitions } from '../../../kube/validation/repetition.ts'

const specOf = (object: UntypedObject): NodeSpec => (object as unknown as Node).spec ?? {}

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  const spec = ensurePart(draft, 'spec')
  const status = ensurePart(draft, 'status')
  // `podCIDR` duplicates the first item of `podCIDRs`; old clients know only `podCIDR`, so it takes precedence.
  const [range] = (spec['podCIDRs'] ?? []) as readonly string[]
  if (spec['podCIDR'] && range !== spec['podCIDR']) spec['podCIDRs'] = [spec['podCIDR']]
  else if (range) spec['podCIDR'] = range
  if (status['capacity'] !== undefined) status['allocatable'] ??= { ...part(status, 'capacity') }
  roundResources(part(status, 'capacity'))
  roundResources(part(status, 'allocatable'))
  return finished(draft)
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

function checkTaints(taints: readonly Taint[]): Problems {
  const repeated = repetitions(taints, ({ key, effect }) => JSON.stringify([key, effect]))
  return taints.flatMap(({ key, value = '', effect }, index) => {
    const at = `metadata.taints[${index}]`
    const values = labelValue(value)
    const isRepeated = repeated.has(index)
    const shown = { Key: key, Value: value, Effect: effect, TimeAdded: null }
    return [
      ...eachInvalid(`${at}.key`, key, qualifiedNameProblems(key)),
      ...(values.length > 0 ? [invalidField(`${at}.value`, value, values.join(';'))] : noErrors),
      ...(effect
        ? effects.includes(effect)
          ? noErrors
          : [unsupported(`${at}.effect`, effect, effects)]
        : [requiredField(`${at}.effect`)]),
      ...(isRepeated ? [withDetail(duplicate(at, shown), 'taints must be unique by key and effect pair')] : noErrors),
    ]
  })
}

function withDetail(problem: Problems[number], detail: string): Problems[number] {
  return { ...problem, message: `${problem.message}: ${detail}` }
}

function* checkAmounts(object: UntypedObject): Iterable<Problems[number]> {
  const { status = {} } = object as unknown as Node
  for (const member of ['capacity', 'allocatable'] as const) {
    for (const [name, amount] of Object.entries(status[member] ?? {})) {
      yield* checkResourceAmount(name, amount as string, `status.${member}.${name}`)
    }
  }
}

function check(object: UntypedObject): Problems {
  const { taints = [], podCIDRs = [] } = specOf(object)
  const families = podCIDRs.map((range) => parseCidr(range)?.address.family)
  const isTooMany = podCIDRs.length > 2 || (podCIDRs.length === 2 && families[0] === families[1])
  return [
    ...checkTaints(taints),
    ...checkAmounts(object),
    ...podCIDRs.flatMap((range, index) => checkCidr(range, `spec.podCIDRs[${index}]`)),
    ...(isTooMany
      ? [invalidField('spec.podCIDRs', podCIDRs, 'may specify no more than one CIDR for each IP family')]
      : noErrors),
  ]
}

function* checkChange(spec: NodeSpec, live: NodeSpec): Iterable<Problems[number]> {
  const { podCIDRs: before = [], providerID: provider } = live
  if (before.length > 0 && String(before) !== String(spec.podCIDRs ?? [])) {
    yield forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid')
  }
  if (provider && provider !== spec.providerID) {
    const what = spec.providerID ? 'modified' : 'cleared'
    yield invalidField('spec.providerID', null, `field cannot be ${what} once set`)
  }
}

/** Drops `configSource`, the removed dynamic configuration of kubelets. */
function withoutConfigSource(object: UntypedObject): UntypedObject {
  const { configSource, ...spec } = specOf(object)
  return configSource === undefined ? object : { ...object, spec }
}

export const nodeRules: KindRules = {
  defaults,
  prepareCreate: withoutConfigSource,
  prepareUpdate: withoutConfigSource,
  validateCreate: check,
  validateUpdate: (object, live) => [...check(object), ...checkChange(specOf(object), specOf(live))],
  validateStatus: (object) => [...checkAmounts(object)],
}
