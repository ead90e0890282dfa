/** Renders the templates of a chart and its subcharts in one set, in Helm's order. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../clock/clock.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { helmFunctions } from '../functions/function-table.ts'
import { valuesMethods } from '../functions/values-methods.ts'
import { RenderMeter, type RenderBudget } from '../template/budget.ts'
import { executeTemplate, type RenderState } from '../template/executor.ts'
import { formatPlain } from '../template/format-value.ts'
import type { FunctionTable } from '../template/function-type.ts'
import { BudgetExceeded, GoError, isStackOverflow, StackExhausted } from '../template/go-error.ts'
import { executionErrorText, parseErrorText } from '../template/helm-error.ts'
import type { CallPlace, CallStep, Generators, Lookup, RenderServices } from '../template/services.ts'
import { TemplateSet } from '../template/template-set.ts'
import { compareGoText, withType } from '../template/values.ts'

/** What a template sees as `.`: Values, Chart, Files, Capabilities, Release, Subcharts. */
export type TemplateData = Record<string, unknown>

export interface TemplateSource {
  /** `chart/templates/a.yaml`; `chart/charts/sub/templates/b.yaml`. */
  readonly name: string
  readonly text: string
  /** `chart/templates`. */
  readonly basePath: string
  /** Shared by the templates of one chart: a change that one of them makes is seen by the next. `Template` is added. */
  readonly data: TemplateData
}

export interface RenderOptions {
  readonly generators: Generators
  readonly clock: Pick<Clock, 'now'>
  /** The time zone of dates without one. @default 'UTC' */
  readonly zone?: string | undefined
  /** Without it `lookup` finds nothing. */
  readonly lookup?: Lookup | undefined
  /** Fail on keys that a map does not have. @default false */
  readonly strict?: boolean | undefined
  readonly budget?: RenderBudget | undefined
  /**
   * Whether the caller renders again in a thread with a larger stack if that of this one is used up: the render fails with
   * StackExhausted then, and not as one that nests too deeply. @default false
   */
  readonly hasLargerStack?: boolean | undefined
}

/**
 * The text of each template that is not a partial (`_helpers.tpl`), by name. Bytes that are not UTF-8 are lone surrogates.
 * @throws TemplateInvalid, TemplateFailed (both with Helm's message), TemplateUnbounded
 */
export function renderTemplates(
  sources: readonly TemplateSource[],
  options: RenderOptions,
): ReadonlyMap<string, string> {
  const functions = helmFunctions()
  const state = renderState(functions, options)
  const set = new TemplateSet()
  const ordered = sources
    .map((source) => ({ ...source, depth: source.name.split('/').length }))
    .toSorted((a, b) => b.depth - a.depth || compareGoText(b.name, a.name))
  for (const { name, text } of ordered) {
    try {
      set.add(name, text, (word) => functions.has(word))
    } catch (error) {
      if (isStackOverflow(error)) throw tooDeep(name, error, state)
      throw error instanceof GoError ? failure('TemplateInvalid', parseErrorText(name, error), error) : error
    }
  }
  const rendered = new Map<string, string>()
  for (const source of ordered) {
    if (isPartial(source.name)) continue
    rendered.set(source.name, render(state, set, source))
  }
  return rendered
}

function render(state: RenderState, set: TemplateSet, { name, basePath, data }: TemplateSource): string {
  data['Template'] = withType({ Name: name, BasePath: basePath }, 'common.Values')
  withType(data, 'common.Values')
  try {
    const text = executeTemplate(state, set, set.get(name)!, data)
    return text.replaceAll('<no value>', '')
  } catch (error) {
    if (error instanceof GoError) throw failure('TemplateFailed', executionErrorText(name, error), error)
    if (isStackOverflow(error)) throw tooDeep(name, error, state)
    if (error instanceof BudgetExceeded) throw failure('TemplateUnbounded', `${error.message}.`, error)
    throw error
  }
}

function failure(name: keyof typeof renderErrors, message: string, cause: unknown): MusterError {
  return new MusterError(renderErrors[name], shortened(message), { cause })
}

function tooDeep(name: string, cause: unknown, { hasLargerStack }: RenderState): Error {
  if (hasLargerStack) return new StackExhausted()
  return failure('TemplateUnbounded', `template ${name}: its blocks or values are nested too deeply.`, cause)
}

/** A template that includes itself fails with as many places as it is deep. */
const longestMessage = 10_000

function shortened(message: string): string {
  if (message.length <= longestMessage) return message
  return `${message.slice(0, longestMessage / 2)} … ${message.slice(-longestMessage / 2)}`
}

function isPartial(name: string): boolean {
  return name.slice(name.lastIndexOf('/') + 1).startsWith('_')
}

function renderState(functions: FunctionTable, options: RenderOptions): RenderState {
  const { generators, lookup, zone = 'UTC', strict = false } = options
  const counts = new Map<string, number>()
  const callers: (() => CallStep)[] = []
  const services = (place: () => CallPlace): RenderServices => ({
    lookup,
    zone,
    now: () => options.clock.now(),
    randomBytes: (length) => generators.randomBytes(length),
    generate(name, args, create) {
      const path = [place(), ...callers.map((caller) => caller()).toReversed()]
      const location = pathText(path)
      const count = counts.get(location) ?? 0
      counts.set(location, count + 1)
      const site = { function: name, arguments: digest(args), path, count }
      return generators.generate(site, create) as ReturnType<typeof create>
    },
  })
  return {
    functions,
    valuesMethods,
    budget: new RenderMeter(options.budget ?? {}, () => options.clock.now()),
    isStrict: strict,
    hasLargerStack: options.hasLargerStack ?? false,
    included: new Map(),
    callers,
    services,
  }
}

/** Two calls with the same text cannot be told apart. */
function pathText(path: readonly CallStep[]): string {
  return path
    .map((step) => (step.via === 'range' ? step.element : `${step.file}:${step.line}:${step.column}`))
    .join(' < ')
}

function digest(args: readonly unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify(args.map(formatPlain)))
    .digest('hex')
}
