/**
 * Asks the server about expressions, as rules of CRDs. First each is a rule of its own: the server refuses what does not
 * compile. What compiles becomes a rule that evaluates it and never holds, with a message expression that writes its
 * value; an object of that kind is then refused with the values of all of them.
 */
import type { Json, JsonObject } from '../../../src/kube/json.ts'
import { type CelVector, celExpressions, celSelf, celSelfSchema } from '../../vectors/cases/cel.ts'
import type { Api } from '../api.ts'
import { type Recorder, createKind } from './recorder.ts'

interface Cause {
  readonly field?: string
  readonly message?: string
}

const group = 'cel.vectors.muster.test'
const kindsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export const celRecorder: Recorder<CelVector> = {
  set: 'cel',
  async record(api) {
    const refusals = new Map<string, string>()
    for (const some of chunks(celExpressions, 40)) {
      const causes = await tryRules(
        api,
        some.map((rule) => ({ rule, message: 'asked' })),
      )
      for (const [index, message] of byRule(causes, 'rule')) {
        for (const why of refusalIn(message)) refusals.set(some[index]!, why)
      }
    }
    const answers = new Map<string, Omit<CelVector, 'name'>>()
    const compiled = celExpressions.filter((text) => !refusals.has(text))
    for (const [number, some] of chunks(compiled, 50).entries()) {
      for (const [text, answer] of await evaluate(api, `Chunk${number}`, some)) answers.set(text, answer)
    }
    return celExpressions
      .filter((text) => refusals.has(text) || answers.has(text))
      .map((name): CelVector => {
        const refusal = refusals.get(name)
        return Object.assign({ name }, refusal === undefined ? answers.get(name) : { refusal })
      })
  },
}

/** The type of `self` has a name that no rule can know beforehand. */
function refusalIn(message: string): readonly string[] {
  const [, why] = /: ((?:compilation|program instantiation) failed: [^]*)$/.exec(message) ?? []
  return why === undefined ? [] : [why.replaceAll(/selfType\d+/g, 'selfType')]
}

function chunks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}

interface Rule {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
}

const schemaWith = (rules: readonly Rule[]): Json =>
  ({
    type: 'object',
    properties: { spec: { ...celSelfSchema, 'x-kubernetes-validations': rules } },
  }) as unknown as Json

/** What the server says of a CRD with these rules. */
async function tryRules(api: Api, rules: readonly Rule[]): Promise<readonly Cause[]> {
  const { body } = await api.call('POST', kindsPath, {
    query: { dryRun: 'All' },
    body: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `tries.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind: 'Try', plural: 'tries', singular: 'try', listKind: 'TryList' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schemaWith(rules) } }],
      },
    },
  })
  return causesOf(body as JsonObject)
}

function causesOf(body: JsonObject): readonly Cause[] {
  return ((body['details'] as JsonObject | undefined)?.['causes'] ?? []) as readonly Cause[]
}

function byRule(causes: readonly Cause[], part: 'rule' | 'messageExpression'): readonly (readonly [number, string])[] {
  return causes.flatMap(({ field = '', message = '' }) => {
    const [, index, found] = /x-kubernetes-validations\[(\d+)\]\.(\w+)$/.exec(field) ?? []
    return index !== undefined && found === part ? [[Number(index), message] as const] : []
  })
}

async function evaluate(
  api: Api,
  kind: string,
  texts: readonly string[],
): Promise<readonly (readonly [string, Omit<CelVector, 'name'>])[]> {
  const ruleOf = (text: string, index: number, isFormattable: boolean): Rule => ({
    // A comment in the expression must not swallow what follows it.
    rule: `[dyn(${text}\n)].size() == 0`,
    message: `${index}`,
    messageExpression: isFormattable
      ? `'${index}|%s|%s'.format([type(${text}\n), ${text}\n])`
      : `'${index}|%s'.format([type(${text}\n)])`,
  })
  // Quantities, optionals and the like cannot be written: of those the type has to do.
  const tried = await tryRules(
    api,
    texts.map((text, index) => ruleOf(text, index, true)),
  )
  const unformattable = new Set(byRule(tried, 'messageExpression').map(([index]) => index))
  // Constants that cannot be are found only when everything else is right.
  const impossible = new Map(
    byRule(tried, 'rule').flatMap(([index, why]) => refusalIn(why).map((found) => [index, found])),
  )
  // An object as large as the schema allows could make some of them too expensive: those cannot be asked this way.
  const expensive = new Set(
    byRule(tried, 'rule').flatMap(([index, why]) => (/estimated rule cost exceeds/.test(why) ? [index] : [])),
  )
  const path = await createKind(api, {
    group,
    kind,
    schema: schemaWith(
      texts.map((text, index) =>
        expensive.has(index) || impossible.has(index)
          ? { rule: 'true' }
          : ruleOf(text, index, !unformattable.has(index)),
      ),
    ),
  })
  const { body } = await api.call('POST', path('default'), {
    query: { dryRun: 'All' },
    body: { apiVersion: `${group}/v1`, kind, metadata: { name: 'asked' }, spec: celSelf },
  })
  const answers = causesOf(body as JsonObject).map(({ message = '' }) => answerOf(message))
  await api.call('DELETE', `${kindsPath}/${kind.toLowerCase()}s.${group}`)
  return texts.flatMap((text, index) => {
    const refusal = impossible.get(index)
    if (refusal !== undefined) return [[text, { refusal }] as const]
    if (expensive.has(index)) return []
    const found = answers.find((answer) => answer?.index === index)
    if (!found) throw new Error(`no answer for ${text}: ${JSON.stringify(body).slice(0, 2000)}`)
    return [[text, found.answer] as const]
  })
}

function answerOf(message: string): { readonly index: number; readonly answer: Omit<CelVector, 'name'> } | undefined {
  const said = message.replace(/^Invalid value: (?:"object": )?/, '')
  const [, failure, failed] =
    /^([^]*) evaluating rule: (\d+)$/.exec(said) ?? /^'(no such [^']*)': call [^]*rule: (\d+)$/.exec(said) ?? []
  if (failure !== undefined) return { index: Number(failed), answer: { failure } }
  const [, index, type, value] = /^(\d+)\|([^|]*)(?:\|([^]*))?$/.exec(said) ?? []
  if (type !== undefined) return { index: Number(index), answer: { type, ...(value === undefined ? {} : { value }) } }
  // A message of several lines, or one that fails, is not used; the expression itself has a value.
  return /^\d+$/.test(said) ? { index: Number(said), answer: {} } : undefined
}
