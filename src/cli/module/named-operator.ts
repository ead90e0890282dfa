/** Finds an operator by its name in `muster.yaml`: from a file, from a package, or a program. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { errorCode } from '../../system/error-code.ts'
import { managerErrors } from '../../manager/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { nearest } from '../../kube/text/nearest.ts'
import type { OperatorSettings } from '../../manager/config/operator-settings.ts'
import type { Settings } from '../../manager/config/settings.ts'
import type { Operator } from '../../operator/operator.ts'
import { builtInOperators } from './package-module.ts'

const usual = 'muster.yaml'

interface NamedOperator {
  readonly name: string
  readonly section: OperatorSettings
  /** The settings of the whole configuration. */
  readonly settings: Settings
  /** The configuration file. */
  readonly file: string
  /** Loads it into this process, whatever its isolation level; not for programs. @throws ModuleUnusable, InvalidConfiguration */
  load(): Promise<{ readonly operator: Operator; readonly config: Readonly<Record<string, unknown>> }>
}

/**
 * Undefined: the word is a file, not a name. A name in the configuration of `folder` takes precedence over a file of that
 * name; `./NAME` is always the file.
 * @throws ModuleUnusable if it is neither; InvalidConfiguration
 */
export async function namedOperator(word: string, folder = '.'): Promise<NamedOperator | undefined> {
  if (/[./#]/.test(word)) return undefined
  const file = path.join(folder, usual)
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new MusterError(managerErrors.InvalidConfiguration, `${file} cannot be read (${errorCode(error)}).`, {
      cause: error,
    })
  })
  if (text === undefined) {
    if (existsSync(path.join(folder, word))) return undefined
    const cure = `name the file that exports it, such as src/operator.ts, or write a ${usual} that says where it is from`
    throw new MusterError(managerErrors.ModuleUnusable, `${word}: there is no such file, and no ${file} here: ${cure}.`)
  }
  const { composeConfiguration, textLayer } = await import('../../manager/config/open-configuration.ts')
  const layers = [await textLayer(file, text)]
  const environment = process.env
  const { settings } = (await composeConfiguration(layers, { environment })).configuration
  const { operators } = settings
  const section = Object.hasOwn(operators, word) ? operators[word] : undefined
  if (!section) {
    if (existsSync(path.join(folder, word))) return undefined
    throw new MusterError(
      managerErrors.ModuleUnusable,
      `${file} names no operator "${word}"${guess(word, Object.keys(operators))}`,
    )
  }
  return {
    name: word,
    section,
    settings,
    file: path.resolve(file),
    async load() {
      const { createLoader } = await import('../../manager/loading/loader.ts')
      const { operator } = await createLoader({ folder: path.resolve(folder), given: builtInOperators() }).load(word, {
        ...section,
        isolation: 'inline',
      })
      // With its schema loaded, its own settings are validated and defaulted.
      const { configuration } = await composeConfiguration(layers, { environment, operators: [operator] })
      const config = configuration.settings.operators[word]!.config as Readonly<Record<string, unknown>>
      return { operator, config }
    },
  }
}

function guess(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  if (near !== undefined) return `. Did you mean "${near}"?`
  return known.length === 0 ? ', nor any other.' : `. There are ${known.join(', ')}.`
}
