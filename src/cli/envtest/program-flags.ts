/**
 * The flags of a program that stands in for another one: `kube-apiserver` and `etcd` of `muster envtest`.
 *
 * Callers pass what the original program knows. So a flag may be one that has an effect here, one of the original's that
 * has no meaning here, or one of another version. All are accepted; those whose absence a test may notice are reported on standard
 * error. A value that an understood flag cannot have is an error, as it is for the original.
 */
import { MusterError } from '../../kube/muster-error.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { nearest } from '../../kube/text/nearest.ts'

export interface ProgramFlags {
  /** The name of the program, for messages. */
  readonly program: string
  /** Flags with an effect here. */
  readonly understood: Readonly<Record<string, FlagHelp>>
  /** Flags of the original without a meaning here, that take a value. */
  readonly ignored: readonly string[]
  /** Flags of the original without a meaning here that may stand without a value. */
  readonly ignoredSwitches: readonly string[]
  /** Flags of the original that change its answers, and are not built here: reported. */
  readonly unbuilt: readonly string[]
  /** Whether `-flag` is `--flag`, as in programs with Go's own flag package. */
  readonly singleDash: boolean
}

interface FlagHelp {
  readonly help: string
  /** May stand without a value, which is true then. */
  readonly isSwitch?: boolean
}

interface ReadFlags {
  /** All values of a flag, in the order given. */
  readonly values: ReadonlyMap<string, readonly string[]>
  /** Lines for standard error. */
  readonly warnings: readonly string[]
}

/** @throws InvalidFlag */
export function readProgramFlags(flags: ProgramFlags, words: readonly string[]): ReadFlags {
  const values = new Map<string, string[]>()
  const warnings: string[] = []
  const known = new Set([...Object.keys(flags.understood), ...flags.ignored, ...flags.ignoredSwitches])
  const switches = new Set(flags.ignoredSwitches)
  for (const [name, { isSwitch }] of Object.entries(flags.understood)) if (isSwitch) switches.add(name)

  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    // As the original: templates of callers may leave an empty word.
    if (word === '') continue
    const { name, given } = takeApart(flags, word)
    const isKnown = known.has(name)
    const following = words[at + 1]
    let value: string
    if (given !== undefined) value = given
    else if (switches.has(name)) value = 'true'
    else if (following !== undefined && (isKnown || !following.startsWith('-'))) {
      value = following
      at++
    } else if (isKnown) throw invalid(flags, `flag needs an argument: --${name}`)
    else value = 'true'

    if (switches.has(name)) checkSwitch(flags, name, value)
    if (!isKnown) warnings.push(unknown(flags, name, known))
    else if (flags.unbuilt.includes(name)) warnings.push(`--${name} has no effect in this control plane.`)
    values.set(name, [...(values.get(name) ?? []), value])
  }
  return { values, warnings }
}

function takeApart(flags: ProgramFlags, word: string): { readonly name: string; readonly given: string | undefined } {
  const dashes = word.startsWith('--') ? 2 : word.startsWith('-') && (flags.singleDash || isVerbosity(word)) ? 1 : 0
  const [, name = '', , value] = /^([\w.-]*)(=([^]*))?$/.exec(word.slice(dashes)) ?? []
  if (dashes === 0 || name === '')
    throw invalid(flags, `${JSON.stringify(word)} is not a flag, and it takes no other arguments`)
  // Kubernetes programs take an underscore for a dash.
  return { name: name.replaceAll('_', '-'), given: value }
}

/** The only flag of Kubernetes programs with a short form that callers use. */
function isVerbosity(word: string): boolean {
  return word === '-v' || word.startsWith('-v=')
}

/** The texts that Go's ParseBool takes. */
const truths: Readonly<Record<string, boolean>> = {
  1: true,
  t: true,
  T: true,
  true: true,
  TRUE: true,
  True: true,
  0: false,
  f: false,
  F: false,
  false: false,
  FALSE: false,
  False: false,
}

function checkSwitch(flags: ProgramFlags, name: string, value: string): void {
  if (name === 'version' && value === 'raw') return
  if (!Object.hasOwn(truths, value))
    throw invalid(flags, `invalid argument ${JSON.stringify(value)} for --${name}: true or false`)
}

export function isTrue(value: string): boolean {
  return Object.hasOwn(truths, value) && truths[value]!
}

/** `--version=raw` is the long form of a Kubernetes program; here both are the same. */
export function asksForVersion({ values }: ReadFlags): boolean {
  const value = values.get('version')?.at(-1) ?? 'false'
  return value === 'raw' || isTrue(value)
}

function unknown({ program }: ProgramFlags, name: string, known: ReadonlySet<string>): string {
  const near = nearest(name, [...known])
  return `${program} has no flag --${name}; it is ignored.${near === undefined ? '' : ` Did you mean --${near}?`}`
}

function invalid({ program }: ProgramFlags, why: string): MusterError {
  return new MusterError(flagErrors.InvalidFlag, `${program}: ${why}.`)
}

/** The help text: a line that begins with `--name` for each flag, because callers look for flags in it. */
export function programHelp({ program, understood, ignored, ignoredSwitches, unbuilt }: ProgramFlags): string {
  const rows = Object.entries(understood).map(([name, { help }]) => `      --${name.padEnd(36)} ${help}`)
  const others = [...ignored, ...ignoredSwitches].toSorted().map((name) => {
    const why = unbuilt.includes(name) ? 'accepted; has no effect here, which is reported' : 'accepted'
    return `      --${name.padEnd(36)} ${why}`
  })
  return [
    `${program} of a test control plane, made by muster envtest. It is no production server.`,
    '',
    'Flags with an effect:',
    '',
    ...rows,
    '',
    'Flags of the original program that are accepted:',
    '',
    ...others,
    '',
  ].join('\n')
}
