/** The flag `--output` of commands that print a table: the same data for programs. */
import type { Json } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'

export const outputFlag = { type: 'string', short: 'o', value: 'json|yaml', help: 'print the data itself' } as const

type OutputFormat = 'json' | 'yaml'

/** @throws InvalidFlag */
export function readOutputFormat(text: string | undefined): OutputFormat | undefined {
  if (text === undefined || text === 'json' || text === 'yaml') return text
  throw new MusterError(flagErrors.InvalidFlag, `--output ${text}: there are json and yaml.`)
}

export async function formatOutput(value: unknown, format: OutputFormat): Promise<string> {
  // Values that JSON does not have are left out, in both formats alike.
  const text = JSON.stringify(value, undefined, 2)
  if (format === 'json') return text
  const { writeYaml } = await import('../../kube/yaml/yaml.ts')
  return writeYaml(JSON.parse(text) as Json).trimEnd()
}
