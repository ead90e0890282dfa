/** The kind of a dependent to generate: looked up by any of its names, and how code refers to it. */
import { type BuiltinResource, builtinResources } from '../../kube/builtin.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatApiVersion, parseApiVersion, type Resource } from '../../kube/kind.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import * as kitKinds from '../../kube/kinds.ts'
import { typesOfCrd } from '../../operator/kind/type-text.ts'
import { nearest } from '../../kube/text/nearest.ts'
import type { GeneratorOutput } from './generator-output.ts'

export interface DependentKind {
  readonly kind: string
  readonly apiVersion: string
  /** The expression after `kind:`. */
  readonly expression: string
  /** The name under which `@muster-dev/muster/operator` exports the kind. */
  readonly fromKit: string
  /** Further lines at the top of the file. */
  readonly imports: readonly string[]
  /** A file of types that the imports need. */
  readonly types?: GeneratorOutput
}

/** `Deployment`, `deploy`, `events.k8s.io/v1/Event`. */
export interface KindName {
  readonly word: string
  readonly apiVersion: string | undefined
}

export function readKindName(text: string): KindName {
  const slash = text.lastIndexOf('/')
  return slash < 0
    ? { word: text, apiVersion: undefined }
    : { word: text.slice(slash + 1), apiVersion: text.slice(0, slash) }
}

/** @throws UnknownKind; InvalidFlag when several kinds are called so */
export function builtinKind({ word, apiVersion }: KindName): DependentKind {
  const called = builtinResources().filter(
    (resource) =>
      namesOf(resource).includes(word.toLowerCase()) &&
      (apiVersion === undefined || formatApiVersion(resource) === apiVersion),
  )
  const kept = called.filter(({ verbs }) => needed.every((verb) => verbs.includes(verb)))
  const [first] = kept.toSorted((a, b) => rank(b.version) - rank(a.version))
  if (!first) throw unknown(word, apiVersion, called.length > 0)
  const groups = new Set(kept.map(({ group }) => group))
  if (groups.size > 1) {
    const ways = kept.map((resource) => `${formatApiVersion(resource)}/${resource.kind}`)
    throw new MusterError(flagErrors.InvalidFlag, `"${word}" is the name of several kinds: say ${ways.join(' or ')}.`)
  }
  const { kind } = first
  const found = { kind, apiVersion: formatApiVersion(first) }
  if (Object.entries(kitKinds).some(([name, value]) => name === kind && isSame(value, first))) {
    return { ...found, expression: kind, fromKit: kind, imports: [] }
  }
  const [group, version] = first.definition.split('.').slice(-3)
  return {
    ...found,
    expression: `resourceOf<${kind}>('${found.apiVersion}', '${kind}')`,
    fromKit: 'resourceOf',
    imports: [`import type { ${kind} } from '@muster-dev/muster/kube/types/${group}/${version}'`],
  }
}

/** @throws UnknownKind when none of the CRDs defines it */
export function customKind({ word, apiVersion }: KindName, crds: readonly CustomResourceDefinition[]): DependentKind {
  const crd = crds.find(({ spec: { names } }) =>
    [names.kind, names.plural, names.singular ?? '', ...(names.shortNames ?? [])].some(
      (name) => name !== '' && name.toLowerCase() === word.toLowerCase(),
    ),
  )
  const wanted = apiVersion === undefined ? undefined : parseApiVersion(apiVersion)
  const served = crd?.spec.versions.filter((version) => version.served) ?? []
  const version = served.find(({ name, storage }) => (wanted ? name === wanted.version : storage)) ?? undefined
  if (!crd || !version || (wanted && wanted.group !== crd.spec.group)) {
    const there = crds.map(({ spec }) => `${spec.names.kind} (${spec.versions.map(({ name }) => name).join(', ')})`)
    const name = apiVersion === undefined ? word : `${apiVersion}/${word}`
    throw new MusterError(kubeErrors.UnknownKind, `the file defines no "${name}"; it defines ${there.join(', ')}.`)
  }
  const { kind } = crd.spec.names
  // As typesOfCrd calls them.
  const type = served.length > 1 ? kind + version.name.charAt(0).toUpperCase() + version.name.slice(1) : kind
  const constant = `${type.charAt(0).toLowerCase()}${type.slice(1)}Resource`
  const file = `${kind.toLowerCase()}-types.ts`
  return {
    kind,
    apiVersion: formatApiVersion({ group: crd.spec.group, version: version.name }),
    expression: constant,
    fromKit: '',
    imports: [`import { ${constant} } from './${file}'`],
    types: { name: file, text: typesOfCrd(crd) },
  }
}

/** The built-in kinds that a name may refer to, and the name itself. */
export function kindsCalled(word: string): ReadonlySet<string> {
  const called = builtinResources().filter((resource) => namesOf(resource).includes(word.toLowerCase()))
  return new Set([word, ...called.map(({ kind }) => kind)].map((kind) => kind.toLowerCase()))
}

/** The verbs that the operator kit uses on dependents. */
const needed = ['create', 'delete', 'list', 'patch', 'watch'] as const

function namesOf({ kind, plural, singular = '', shortNames = [] }: BuiltinResource): readonly string[] {
  return [kind.toLowerCase(), plural, singular, ...shortNames].filter((name) => name !== '')
}

function isSame(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.version === b.version && a.kind === b.kind
}

/** `v2` before `v1` before `v1beta1` before `v1alpha1`. */
function rank(version: string): number {
  const [, major = '0', stage, minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
  const stages = { alpha: 0, beta: 1 } as const
  return (stage === undefined ? 2 : stages[stage as keyof typeof stages]) * 1e6 + Number(major) * 1e3 + Number(minor)
}

function unknown(word: string, apiVersion: string | undefined, isServed: boolean): MusterError {
  const where = apiVersion === undefined ? '' : ` in ${apiVersion}`
  if (isServed) {
    return new MusterError(
      kubeErrors.UnknownKind,
      `"${word}" is no kind whose objects could be kept: servers only answer with it.`,
    )
  }
  const kinds = [...new Set(builtinResources().map(({ kind }) => kind))]
  const near = nearest(
    word.toLowerCase(),
    kinds.map((kind) => kind.toLowerCase()),
  )
  const meant = kinds.find((kind) => kind.toLowerCase() === near)
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`
  return new MusterError(
    kubeErrors.UnknownKind,
    `there is no built-in kind "${word}"${where}.${hint} For others: --crd FILE.`,
  )
}
