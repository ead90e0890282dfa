/** The flags that set values, as Helm has them. */
import { readFileSync } from 'node:fs'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ValueMap } from '../../render/chart/values.ts'
import { errorCode } from '../../system/error-code.ts'
import type { FlagValues } from '../command/command.ts'
import { readNamedFile } from '../command/named-file.ts'

export const valueFlags = {
  values: {
    type: 'string',
    multiple: true,
    short: 'f',
    value: 'FILE',
    help: 'values in YAML; - is standard input; later files win',
  },
  set: {
    type: 'string',
    multiple: true,
    value: 'KEY=VALUE,…',
    help: 'one value, such as image.tag=1.2 or hosts[0].name=a or list={a,b}',
  },
  'set-string': { type: 'string', multiple: true, value: 'KEY=VALUE,…', help: 'the same, always as text' },
  'set-file': { type: 'string', multiple: true, value: 'KEY=FILE,…', help: 'the same, with the contents of files' },
  'set-json': { type: 'string', multiple: true, value: 'KEY=JSON,…', help: 'the same, with JSON values' },
  'set-literal': { type: 'string', multiple: true, value: 'KEY=TEXT', help: 'one value, taken literally' },
} as const

/** @throws InvalidFlag, InvalidValues, InvalidYaml */
export async function readValueFlags(given: FlagValues<typeof valueFlags>): Promise<ValueMap> {
  const names = Object.keys(valueFlags) as readonly (keyof typeof valueFlags)[]
  // The parser is not loaded for nothing.
  if (names.every((name) => given[name] === undefined)) return new Map()
  const { text: readStream } = await import('node:stream/consumers')
  const { userValues } = await import('../../render/chart/user-values.ts')
  const files: { readonly name: string; readonly text: string }[] = []
  for (const name of given.values ?? []) {
    files.push({ name, text: name === '-' ? await readStream(process.stdin) : await readNamedFile('values', name) })
  }
  return userValues({
    files,
    set: given.set ?? [],
    setString: given['set-string'] ?? [],
    setFile: given['set-file'] ?? [],
    setJson: given['set-json'] ?? [],
    setLiteral: given['set-literal'] ?? [],
    readFile: readValueFile,
  })
}

function readValueFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const why = errorCode(error) === 'ENOENT' ? 'there is no such file' : (errorCode(error) ?? 'unknown error')
    throw new MusterError(flagErrors.InvalidFlag, `${file} cannot be read: ${why}.`, { cause: error })
  }
}
