/**
 * The names of a kind: each of its group has its own. Those of a definition are taken or refused one by one; what was
 * accepted once stays so until something else is. `spec.names` is what is wished for, `status.acceptedNames` what is so.
 */
import type { ConditionUpdate } from '../../kube/condition.ts'
import { quoteGo } from '../../kube/go-text.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../../kube/types/apiextensions/v1.ts'

export interface NameDecision {
  readonly acceptedNames: CustomResourceDefinitionNames
  readonly condition: ConditionUpdate
}

/** What becomes of the names of a definition; `group` is every definition of its group, itself included. */
export function decideNames(crd: CustomResourceDefinition, group: readonly CustomResourceDefinition[]): NameDecision {
  const wanted = crd.spec.names
  const accepted: Partial<CustomResourceDefinitionNames> = crd.status?.acceptedNames ?? {}
  const used = namesInUse(group)
  const decided: { -readonly [Name in keyof CustomResourceDefinitionNames]?: CustomResourceDefinitionNames[Name] } = {
    ...accepted,
  }
  let refusal: { readonly reason: string; readonly message: string } | undefined
  for (const [name, reason] of singleNames) {
    const names = name === 'kind' || name === 'listKind' ? used.kinds : used.words
    const [wish = '', current = ''] = [wanted[name], accepted[name]]
    if (wish === current || !names.has(wish)) decided[name] = wish
    else refusal = { reason, message: inUse(wish) }
    // Short names stand between the two pairs.
    if (name === 'singular') refusal = decideShortNames(wanted, accepted, used.words, decided) ?? refusal
  }
  if (wanted.categories) decided.categories = wanted.categories
  else delete decided.categories
  return {
    acceptedNames: compact(decided),
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
  { shortNames: wanted = [] }: CustomResourceDefinitionNames,
  { shortNames: accepted = [] }: Partial<CustomResourceDefinitionNames>,
  words: ReadonlySet<string>,
  decided: { shortNames?: readonly string[] },
): { readonly reason: string; readonly message: string } | undefined {
  const taken = wanted.filter((name) => !accepted.includes(name) && words.has(name)).map(inUse)
  if (taken.length > 0) {
    return { reason: 'ShortNamesConflict', message: taken.length === 1 ? taken[0]! : `[${taken.join(', ')}]` }
  }
  decided.shortNames = wanted
  return undefined
}

interface NamesInUse {
  readonly words: ReadonlySet<string>
  readonly kinds: ReadonlySet<string>
}

function namesInUse(group: readonly CustomResourceDefinition[]): NamesInUse {
  const names = group.flatMap(({ status }) => (status?.acceptedNames ? [status.acceptedNames] : []))
  return {
    words: new Set(names.flatMap(({ plural, singular = '', shortNames = [] }) => [plural, singular, ...shortNames])),
    kinds: new Set(names.flatMap(({ kind, listKind = '' }) => [kind, listKind])),
  }
}

/** As they are written: what is empty is left out, except for the two that every kind has. */
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

/** Whether all that is wished for is so. */
export function areNamesAccepted({ spec, status }: CustomResourceDefinition): boolean {
  return equalJson(compact(spec.names) as unknown as Json, compact(status?.acceptedNames ?? {}) as unknown as Json)
}
