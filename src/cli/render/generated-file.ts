/** The file of `--generated`: passwords, keys and certificates that a chart generated, for its owner's eyes only. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { isJsonObject, parseJson } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import type { GeneratedValues } from '../../render/generated/generated-values.ts'
import { errorCode } from '../../system/error-code.ts'
import { writing } from '../command/named-file.ts'

interface GeneratedFile {
  readonly values: GeneratedValues
  /** Replaces the file, mode 0600, if there is something new. */
  readonly store: (values: GeneratedValues) => void
}

/** A file that does not exist is empty. @throws InvalidFlag */
export function openGeneratedFile(file: string): GeneratedFile {
  const values = readValues(file)
  return {
    values,
    store(all) {
      if (Object.keys(all).length === Object.keys(values).length) return
      const draft = `${file}.${process.pid}`
      writing('generated', file, () => {
        try {
          writeFileSync(draft, `${JSON.stringify(all, undefined, 2)}\n`, { mode: 0o600, flush: true })
          renameSync(draft, file)
        } finally {
          rmSync(draft, { force: true })
        }
      })
    },
  }
}

function readValues(file: string): GeneratedValues {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return {}
    throw invalid(file, `it cannot be read (${errorCode(error) ?? 'unknown error'})`)
  }
  try {
    const json = parseJson(text)
    if (isJsonObject(json) && Object.values(json).every(isGenerated)) {
      return json as GeneratedValues
    }
  } catch {
    // Reported below: the parser's message quotes the text.
  }
  throw invalid(file, 'it is no file of generated values')
}

function isGenerated(value: unknown): boolean {
  return (
    typeof value === 'string' ||
    typeof value === 'number' ||
    (Array.isArray(value) && value.every((item) => typeof item === 'string'))
  )
}

function invalid(file: string, problem: string): MusterError {
  return new MusterError(flagErrors.InvalidFlag, `--generated ${file}: ${problem}.`)
}
