/** The values of a user: files first, in order; then `--set-json`, `--set`, `--set-string`, `--set-file` and `--set-literal`. */
import { isJsonObject, parseJson } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { type SetMode, setValues } from './set-values.ts'
import { isTable, mergeTables, readValues, type ValueMap, chartValueOf } from './values.ts'

interface UserValues {
  readonly files?: readonly { readonly name: string; readonly text: string }[]
  readonly setJson?: readonly string[]
  readonly set?: readonly string[]
  readonly setString?: readonly string[]
  readonly setFile?: readonly string[]
  readonly setLiteral?: readonly string[]
  /** The text of a file that `setFile` names. */
  readonly readFile?: (file: string) => string
}

/** @throws InvalidYaml, InvalidValues */
export function userValues(given: UserValues): ValueMap {
  let values: ValueMap = new Map()
  for (const { name, text } of given.files ?? []) values = mergeTables(values, readValues(text, name))
  for (const text of given.setJson ?? []) {
    if (text.trim().startsWith('{')) values = mergeTables(values, readObject(text))
    else assign('--set-json', text, 'json', values)
  }
  for (const text of given.set ?? []) assign('--set', text, 'typed', values)
  for (const text of given.setString ?? []) assign('--set-string', text, 'string', values)
  for (const text of given.setFile ?? []) assign('--set-file', text, 'file', values, given.readFile)
  for (const text of given.setLiteral ?? []) assign('--set-literal', text, 'literal', values)
  return values
}

function readObject(text: string): ValueMap {
  try {
    const json = parseJson(text)
    const value = isJsonObject(json) ? chartValueOf(json) : null
    if (isTable(value)) return value
  } catch {
    // Reported below: the parser's own message quotes the text.
  }
  throw new MusterError(renderErrors.InvalidValues, '--set-json: not valid JSON.')
}

/** Errors name the flag, and neither text nor value: they may be secret. */
function assign(
  flag: string,
  text: string,
  mode: SetMode,
  values: ValueMap,
  readFile?: (file: string) => string,
): void {
  try {
    setValues(text, mode, values, readFile)
  } catch (error) {
    if (!(error instanceof MusterError)) throw error
    throw new MusterError(error, `${flag}: ${error.message}`, { cause: error })
  }
}
