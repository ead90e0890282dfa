/** Errors as Helm prints them: the chain of templates taken apart, one line for each place. */
import { ExecError, type GoError } from './go-error.ts'

const warningStart = 'HELM_ERR_START'
const warningEnd = 'HELM_ERR_END'

/** Marks the message of `required` and `fail`, of which only this part is printed. */
export function markWarning(message: string): string {
  return warningStart + message + warningEnd
}

export function parseErrorText(name: string, error: GoError): string {
  const parts = error.message.split(': ')
  if (parts.length === 1) return `parse error in (${name}): ${error.message}`
  return `parse error at (${parts[1]}): ${parts.at(-1)}`
}

export function executionErrorText(name: string, error: GoError): string {
  if (!hasExecError(error)) return error.message
  const first = error.message.indexOf(': ')
  const second = error.message.indexOf(': ', first + 2)
  if (first < 0 || second < 0) return `execution error in (${name}): ${error.message}`
  const location = error.message.slice(first + 2, second)
  const rest = error.message.slice(second + 2)
  const warning = warningOf(rest)
  if (warning !== undefined) return `execution error at (${location}): ${warning}`
  return traceText(error) ?? error.message
}

function hasExecError(error: GoError): boolean {
  for (let current: GoError | undefined = error; current; current = current.wrapped) {
    if (current instanceof ExecError) return true
  }
  return false
}

function warningOf(text: string): string | undefined {
  const start = text.indexOf(warningStart)
  const end = text.lastIndexOf(warningEnd)
  return start >= 0 && end >= start + warningStart.length ? text.slice(start + warningStart.length, end) : undefined
}

/** Each place of the chain on its own lines; undefined if an error of the chain has no place. */
function traceText(error: GoError): string | undefined {
  const places: string[] = []
  for (let current: GoError | undefined = error; current; current = current.wrapped) {
    const place = placeText(current.message)
    if (place === undefined) return undefined
    if (places.at(-1) !== place) places.push(place)
  }
  return places.join('').trim()
}

const prefix = 'template: '

function placeText(message: string): string | undefined {
  if (!message.startsWith(prefix)) return undefined
  const rest = message.slice(prefix.length)
  if (rest.startsWith('no template ')) return `${message}\n`
  return executingText(rest) ?? simpleText(rest)
}

const executing = ': executing '

/** `name: executing "function" at <context>: problem`. */
function executingText(rest: string): string | undefined {
  const at = rest.indexOf(executing)
  if (at < 0) return undefined
  const location = rest.slice(0, at)
  const after = rest.slice(at + executing.length)
  const endQuote = after.startsWith('"') ? after.indexOf('"', 1) : -1
  if (endQuote < 0) return undefined
  const afterName = after.slice(endQuote + 1)
  const open = ' at <'
  if (!afterName.startsWith(open)) return undefined
  const close = afterName.indexOf('>: ')
  if (close < 0) return undefined
  const context = afterName.slice(open.length, close)
  const problem = withoutChain(afterName.slice(close + 3))
  return lines(location, `executing "${after.slice(1, endQuote)}" at <${context}>:`, problem)
}

function simpleText(rest: string): string | undefined {
  const at = rest.lastIndexOf(': ')
  return at < 0 ? undefined : lines(rest.slice(0, at), '', withoutChain(rest.slice(at + 2)))
}

/** The next error of the chain begins with `template:`. */
function withoutChain(problem: string): string {
  const cut = problem.indexOf(' template:')
  return cut < 0 ? problem : problem.slice(0, cut)
}

function lines(location: string, executed: string, problem: string): string {
  return (
    (location === '' ? '' : `${location}\n  `) +
    (executed === '' ? '' : `${executed}\n    `) +
    (problem === '' ? '' : `${problem}\n`)
  )
}
