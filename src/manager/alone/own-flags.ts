/**
 * The command-line flags of an operator that is a program of its own. They are the settings: its own section without
 * the prefix (`--gates.debounce 2s`, `--config.replicas 3`), and those of the manager (`--leaderElection.leaderElect`).
 * All derive from the schema, and are read into a layer of the same configuration that a manager of many operators has.
 */
import { flagErrors } from './flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { nearest } from '../../kube/text/nearest.ts'
import type { Layer } from '../config/layer.ts'
import { type Override, overrideLayer } from '../config/override.ts'
import { configurationSchema, type Declared, isSecretAt } from '../config/schema.ts'
import { scalar } from '../config/yaml-scalar.ts'

interface OwnFlag {
  readonly name: string
  /** The path of the setting. */
  readonly path: readonly string[]
  readonly schema: JSONSchemaProps
  readonly isSecret: boolean
}

/** Settings of the manager that apply to a single operator as well. */
const around = ['clientConnection', 'leaderElection', 'metrics', 'health', 'webhooks', 'tracing', 'logging'] as const

/** Settings of its section that make sense among other operators only. */
const decided: ReadonlySet<string> = new Set(['enabled', 'from', 'isolation', 'allowUnenforced', 'outside', 'clusters'])

/** Short forms, as other operators have them. */
const short: Readonly<Record<string, readonly string[]>> = {
  kubeconfig: ['clientConnection', 'kubeconfig'],
  context: ['clientConnection', 'context'],
}

export function ownFlags(operator: Declared): readonly OwnFlag[] {
  const { schema } = configurationSchema([operator])
  const top = schema.properties!
  const walk = (name: readonly string[], path: readonly string[], below: JSONSchemaProps): readonly OwnFlag[] => {
    const members = Object.entries(below.properties ?? {})
    if (members.length > 0) return members.flatMap(([key, its]) => walk([...name, key], [...path, key], its))
    // A section without settings has no flags.
    if (below.type === 'object' && below.additionalProperties === undefined) return []
    return [{ name: name.join('.'), path, schema: below, isSecret: isSecretAt(schema, path) }]
  }
  const section = Object.entries(top['operators']!.properties![operator.name]!.properties!)
  return [
    ...section.flatMap(([key, its]) => (decided.has(key) ? [] : walk([key], ['operators', operator.name, key], its))),
    ...around.flatMap((key) => walk([key], [key], top[key]!)),
  ]
}

interface OwnArguments {
  readonly layer: Layer
  /** From `--file` and `--configmap`. */
  readonly file: string | undefined
  readonly configMap: string | undefined
  readonly isHelp: boolean
}

/** @throws UnknownFlag, InvalidFlag */
export function readOwnArguments(operator: Declared, argv: readonly string[]): OwnArguments {
  const flags = new Map(ownFlags(operator).map((flag) => [flag.name, flag]))
  for (const [name, path] of Object.entries(short)) {
    const meant = flags.get(path.join('.'))
    if (meant && !flags.has(name)) flags.set(name, meant)
  }
  const overrides: Override[] = []
  const given: { file?: string; configmap?: string; help?: string } = {}
  const words = [...argv]
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '-h') word = '--help'
    const [, name = '', inline] = /^--([^=]+)(?:=([^]*))?$/.exec(word) ?? []
    if (name === '')
      throw new MusterError(flagErrors.InvalidFlag, `${operator.name} takes flags alone; "${word}" is none.`)
    const flag = flags.get(name)
    const isOther = name === 'file' || name === 'configmap' || name === 'help'
    if (!flag && !isOther) throw unknown(name, [...flags.keys(), 'file', 'configmap', 'help'])
    const isSwitch = flag ? flag.schema.type === 'boolean' : name === 'help'
    const text = inline ?? (isSwitch ? 'true' : words.shift())
    if (text === undefined) throw new MusterError(flagErrors.InvalidFlag, `--${name} needs a value.`)
    if (flag) overrides.push({ path: flag.path, text, place: `flag --${name}` })
    else given[name as keyof typeof given] = text
  }
  return {
    layer: overrideLayer('flags', overrides, [operator]),
    file: given.file,
    configMap: given.configmap,
    isHelp: given.help !== undefined,
  }
}

function unknown(name: string, known: readonly string[]): MusterError {
  const near = nearest(name, known)
  return new MusterError(
    flagErrors.UnknownFlag,
    `unknown flag "--${name}".${near === undefined ? '' : ` Did you mean "--${near}"?`}`,
  )
}

export function ownHelp(operator: Declared): string {
  const rows = ownFlags(operator).map(({ name, schema, isSecret }) => {
    const { description = '', default: value } = schema
    const usual = value === undefined || isSecret ? '' : ` (default: ${scalar(value)})`
    return [`--${name}${valueOf(schema)}`, `${description}${usual}`.trim()] as const
  })
  const all = [
    ['--file FILE', 'A configuration in YAML or JSON; flags outweigh it.'],
    [
      '--configmap NAMESPACE/NAME',
      'A configuration in a ConfigMap, key muster.yaml; made with the defaults when missing.',
    ],
    ...rows,
    ['--help', 'Prints this.'],
  ] as const
  const width = Math.max(...all.map(([left]) => left.length))
  return [`${operator.name}: flags`, '', ...all.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)].join('\n')
}

function valueOf({ type, enum: words, items }: JSONSchemaProps): string {
  if (type === 'boolean') return ''
  if (words) return ` ${words.map(String).join('|')}`
  if (type === 'integer' || type === 'number') return ' N'
  if (type === 'array') return items ? ' A,B,…' : ' JSON'
  return type === 'string' ? ' TEXT' : ' VALUE'
}
