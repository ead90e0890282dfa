/** Updates of a pod's spec: only images, a shorter activeDeadlineSeconds and additional tolerations are allowed. */
import { equalJson, type Json, stringifyJson } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { Container, NodeSelectorTerm, Pod, PodSpec, Toleration } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkImageSpace } from '../container/container-validation.ts'
import { goStruct } from '../values/go-struct.ts'
import { forbiddenField, invalidField, requiredField } from '../../../kube/validation/field-error.ts'
import { checkTolerations } from './scheduling-validation.ts'
import { unifiedDiff } from '../values/unified-diff.ts'
import { checkRange, maxInt32 } from '../values/value-validation.ts'

const changeable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',')

export function* checkPodChange(object: UntypedObject, live: UntypedObject): Iterable<Cause> {
  const [spec, before] = [specOf(object), specOf(live)]
  yield* checkMirror(object, live)
  for (const list of ['containers', 'initContainers'] as const) {
    const own = spec[list] ?? []
    if (own.length !== (before[list] ?? []).length) {
      yield forbiddenField(`spec.${list}`, 'pod updates may not add or remove containers')
      return
    }
    for (const [index, container] of own.entries()) {
      if (!container.image) yield requiredField(`spec.${list}[${index}].image`)
      yield* checkImageSpace(container, `spec.${list}[${index}]`)
    }
  }
  const deadline = [...checkDeadline(spec, before)]
  yield* deadline
  if (deadline.length > 0 && spec.activeDeadlineSeconds !== undefined) return
  yield* checkAddedTolerations(spec.tolerations ?? [], before.tolerations ?? [])
  yield* checkRemovedGates(spec, before)
  if (isSame(spec, before)) return
  const isGated = (before.schedulingGates ?? []).length > 0
  if (isGated) yield* checkNarrowing(spec, before)
  const freed = withMutableFieldsReset(spec, before, isGated)
  if (isSame(freed, before)) return
  const difference = unifiedDiff(goText(before), goText(freed))
  yield forbiddenField('spec', `pod updates may not change fields other than ${changeable}\n${difference}`)
}

function specOf(object: UntypedObject): PodSpec {
  return (object as unknown as Pod).spec!
}

/** Indented JSON as Go prints it. */
function goText(spec: PodSpec): string {
  return stringifyJson(goStruct(spec, 'PodSpec'), 1).replaceAll(
    /[<>&]/g,
    (one) => `\\u00${one.codePointAt(0)!.toString(16)}`,
  )
}

function isSame(a: unknown, b: unknown): boolean {
  return equalJson(a as Json | undefined, b as Json | undefined)
}

const mirror = 'kubernetes.io/config.mirror'

/** A mirror pod (of a static pod on a node) must keep its annotation. */
function* checkMirror({ metadata }: UntypedObject, live: UntypedObject): Iterable<Cause> {
  const [now, before] = [metadata.annotations?.[mirror], live.metadata.annotations?.[mirror]]
  if (now === before) return
  const what = before === undefined ? 'add' : 'remove or update'
  yield forbiddenField(`metadata.annotations[${mirror}]`, `may not ${what} mirror pod annotation`)
}

function* checkDeadline(
  { activeDeadlineSeconds: now }: PodSpec,
  { activeDeadlineSeconds: before }: PodSpec,
): Iterable<Cause> {
  const at = 'spec.activeDeadlineSeconds'
  if (now === undefined) {
    if (before !== undefined) yield invalidField(at, now, 'must not update from a positive integer to nil value')
    return
  }
  const outside = checkRange(now, 0, maxInt32, at)
  yield* outside
  if (outside.length === 0 && before !== undefined && now > before) {
    yield invalidField(at, now, 'must be less than or equal to previous value')
  }
}

function* checkAddedTolerations(now: readonly Toleration[], before: readonly Toleration[]): Iterable<Cause> {
  const untimed = ({ tolerationSeconds: _seconds, ...rest }: Toleration): Omit<Toleration, 'tolerationSeconds'> => rest
  const isKept = (old: Toleration): boolean => now.some((one) => isSame(untimed(one), untimed(old)))
  if (before.every(isKept)) yield* checkTolerations(now, 'spec.tolerations')
  else yield forbiddenField('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')
}

function* checkRemovedGates(spec: PodSpec, before: PodSpec): Iterable<Cause> {
  const known = new Set((before.schedulingGates ?? []).map(({ name }) => name))
  for (const [index, { name }] of (spec.schedulingGates ?? []).entries()) {
    if (known.has(name)) continue
    const why = `only deletion is allowed, but found new scheduling gate '${name}'`
    yield forbiddenField(`spec.schedulingGates[${index}].name`, why)
  }
}

/** The new spec with all mutable fields reset to their old values; any remaining difference is an error. */
function withMutableFieldsReset(spec: PodSpec, before: PodSpec, isGated: boolean): PodSpec {
  const {
    activeDeadlineSeconds: _deadline,
    tolerations: _tolerations,
    schedulingGates: _gates,
    nodeSelector,
    affinity,
    initContainers,
    containers,
    ...rest
  } = spec
  const { activeDeadlineSeconds, tolerations, schedulingGates } = before
  const selector = isGated ? before.nodeSelector : nodeSelector
  const own = isGated ? affinityReset(spec, before) : affinity
  return {
    ...rest,
    containers: withImages(containers, before.containers),
    ...(initContainers && { initContainers: withImages(initContainers, before.initContainers ?? []) }),
    ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
    ...(tolerations && { tolerations }),
    ...(schedulingGates && { schedulingGates }),
    ...(selector && { nodeSelector: selector }),
    ...(own && { affinity: own }),
  }
}

function withImages(containers: readonly Container[], before: readonly Container[]): readonly Container[] {
  return containers.map((container, index) => {
    const image = before[index]?.image
    return image === undefined ? container : { ...container, image }
  })
}

function affinityReset({ affinity }: PodSpec, before: PodSpec): PodSpec['affinity'] {
  const { nodeAffinity: _node, ...others } = affinity ?? {}
  const nodeAffinity = before.affinity?.nodeAffinity
  if (!before.affinity && Object.keys(others).length === 0) return undefined
  return affinity || nodeAffinity ? { ...others, ...(nodeAffinity && { nodeAffinity }) } : undefined
}

/** The scheduling constraints of a gated pod may be narrowed, never widened. */
function* checkNarrowing(spec: PodSpec, before: PodSpec): Iterable<Cause> {
  const now = spec.nodeSelector ?? {}
  const isNarrower = Object.entries(before.nodeSelector ?? {}).every(([key, value]) => now[key] === value)
  if (!isNarrower) {
    yield invalidField(
      'spec.nodeSelector',
      now,
      'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    )
  }
  const at = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  const terms = requiredTerms(spec)
  const oldTerms = requiredTerms(before)
  if (oldTerms.length > 0 && oldTerms.length !== terms.length) {
    yield invalidField(
      at,
      terms.map((term) => goStruct(term, 'NodeSelectorTerm')),
      'no additions/deletions to non-empty NodeSelectorTerms list are allowed',
    )
    return
  }
  for (const [index, term] of oldTerms.entries()) {
    if (hasOnlyAdditions(terms[index]!, term)) continue
    yield invalidField(
      `${at}[${index}]`,
      goStruct(terms[index], 'NodeSelectorTerm'),
      'only additions are allowed (no mutations or deletions)',
    )
  }
}

function requiredTerms({ affinity }: PodSpec): readonly NodeSelectorTerm[] {
  return affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
}

function hasOnlyAdditions(now: NodeSelectorTerm, before: NodeSelectorTerm): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const
  const isEmpty = (term: NodeSelectorTerm): boolean => lists.every((list) => (term[list] ?? []).length === 0)
  // An empty term matches nothing, so adding to it would widen it.
  if (isEmpty(before)) return isEmpty(now)
  return lists.every((list) => {
    const old = before[list] ?? []
    return isSame((now[list] ?? []).slice(0, old.length), old)
  })
}
