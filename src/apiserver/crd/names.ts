/**
 * The names of a kind, each unique in its group. The names of a definition are accepted or rejected one by one; an
 * accepted name stays accepted until another one replaces it. `spec.names` is desired, `status.acceptedNames` is in
 * effect.
 */
import type { ConditionUpdate } from '../../kube/meta/condition.ts'
import { quoteGo } from '../../kube/go/go-text.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../../kube/types/apiextensions/v1.ts'

interface NameDecision {
  readonly acceptedNames: CustomResourceDefinitionNames
  readonly condition: ConditionUpdate
}

/** Which names of a definition are accepted; `group` is every definition of its group, itself included. */
export function decideNames(crd: CustomResourceDefinition, group: readonly CustomResourceDefinition[]): NameDecision {
  const requested = crd.spec.names
  const accepted: Partial<CustomResourceDefinitionNames> = crd.status?.acceptedNames ?? {}
  const used = namesInUse(group)
  const nextAccepted: {
    -readonly [Name in keyof CustomResourceDefinitionNames]?: CustomResourceDefinitionNames[Name]
  } = {
    ...accepted,
  }
  let refusal: { readonly reason: string; readonly message: string } | undefined
  for (const [name, reason] of singleNames) {
    const names = name === 'kind' || name === 'listKind' ? used.kinds : used.resourceNames
    const [desired = '', current = ''] = [requested[name], accepted[name]]
    if (desired === current || !names.has(desired)) nextAccepted[name] = desired
    else refusal = { reason, message: inUse(desired) }
    // Short names are decided after plural and singular, before kind and listKind.
    if (name === 'singular')
      refusal = decideShortNames(requested, accepted, used.resourceNames, nextAccepted) ?? refusal
  }
  if (requested.categories) nextAccepted.categories = requested.categories
  else delete nextAccepted.categories
  return {
    acceptedNames: compact(nextAccepted),
    condition: refusal
      ? { type: 'NamesAccepted', status: 'False', ...refusal }
      : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
  }
}

const singleNames = [
  ['plural', 'PluralConflict'],
  ['singular', 'SingularConflict'],
  ['kind', 'KindConflict'],
  ['listKind', 'ListKindConflict'],
] as const

function inUse(name: string): string {
  return `${quoteGo(name)} is already in use`
}

function decideShortNames(
  { shortNames: requested = [] }: CustomResourceDefinitionNames,
  { shortNames: accepted = [] }: Partial<CustomResourceDefinitionNames>,
  resourceNames: ReadonlySet<string>,
  nextAccepted: { shortNames?: readonly string[] },
): { readonly reason: string; readonly message: string } | undefined {
  const taken = requested.filter((name) => !accepted.includes(name) && resourceNames.has(name)).map(inUse)
  if (taken.length > 0) {
    return { reason: 'ShortNamesConflict', message: taken.length === 1 ? taken[0]! : `[${taken.join(', ')}]` }
  }
  nextAccepted.shortNames = requested
  return undefined
}

interface NamesInUse {
  readonly resourceNames: ReadonlySet<string>
  readonly kinds: ReadonlySet<string>
}

function namesInUse(group: readonly CustomResourceDefinition[]): NamesInUse {
  const names = group.flatMap(({ status }) => (status?.acceptedNames ? [status.acceptedNames] : []))
  return {
    resourceNames: new Set(
      names.flatMap(({ plural, singular = '', shortNames = [] }) => [plural, singular, ...shortNames]),
    ),
    kinds: new Set(names.flatMap(({ kind, listKind = '' }) => [kind, listKind])),
  }
}

/** As serialized: empty names are omitted, except plural and kind, which every definition has. */
function compact(names: Partial<CustomResourceDefinitionNames>): CustomResourceDefinitionNames {
  const { plural = '', singular, shortNames = [], kind = '', listKind, categories = [] } = names
  return {
    plural,
    ...(singular && { singular }),
    ...(shortNames.length > 0 && { shortNames }),
    kind,
    ...(listKind && { listKind }),
    ...(categories.length > 0 && { categories }),
  }
}

/** Whether all desired names are accepted. */
export function areNamesAccepted({ spec, status }: CustomResourceDefinition): boolean {
  return equalJson(compact(spec.names) as unknown as Json, compact(status?.acceptedNames ?? {}) as unknown as Json)
}
