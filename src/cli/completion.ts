/** `muster completion`: prints a script that completes commands and flags in a shell. */
import { MusterError } from '../kube/muster-error.ts'
import { flagErrors } from '../manager/alone/flag-errors.ts'
import { type Command, defineCommand } from './command/command.ts'
import { commands } from './commands.ts'

const command: Command = defineCommand({
  usage: 'bash|zsh|fish',
  details: `bash:  source <(muster completion bash)
zsh:   source <(muster completion zsh)
fish:  muster completion fish | source`,
  flags: {},
  async run({ positionals, out }) {
    const [shell = '', ...rest] = positionals
    if (rest.length > 0 || !Object.hasOwn(shells, shell))
      throw new MusterError(flagErrors.InvalidFlag, 'completion takes one of bash, zsh, fish.')
    out(shells[shell as keyof typeof shells](await wordTable()))
    return 0
  },
})

interface Completed {
  readonly name: string
  readonly summary: string
  /** Literal words of its usage: `crd`, `deploy`. */
  readonly words: readonly string[]
  readonly flags: readonly CompletedFlag[]
}

interface CompletedFlag {
  readonly name: string
  readonly short: string | undefined
  readonly help: string
  /** Literal values: `json`, `yaml`. */
  readonly values: readonly string[]
}

async function wordTable(): Promise<readonly Completed[]> {
  const loaded = commands.map(async (entry): Promise<Completed> => {
    const { name, summary } = entry
    const { default: one } = await entry.load()
    const flags = Object.entries(one.flags).map(([flag, { short, help, value = '' }]) => ({
      name: flag,
      short,
      help,
      values: value.includes('|') ? literals(value) : [],
    }))
    return { name, summary, words: literals(one.usage ?? ''), flags }
  })
  return [...(await Promise.all(loaded)), { name: 'help', summary: 'describe one command', words: [], flags: [] }]
}

/** The first word of each alternative, if it is meant literally: placeholders are in capitals. */
function literals(text: string): readonly string[] {
  const first = text.split('|').map((alternative) => alternative.trim().split(' ', 1)[0]!)
  return first.filter((word) => /^[a-z][a-z-]*$/.test(word))
}

const shells = { bash, zsh, fish }

function valueCases(table: readonly Completed[]): readonly string[] {
  return table.flatMap(({ name, flags }) =>
    flags
      .filter(({ values }) => values.length > 0)
      .map(({ name: flag, short, values }) => {
        const spellings = [`--${flag}`, ...(short === undefined ? [] : [`-${short}`])]
        return `    ${spellings.map((spelling) => `"${name} ${spelling}"`).join('|')}) words="${values.join(' ')}" ;;`
      }),
  )
}

function flagCases(table: readonly Completed[]): readonly string[] {
  return table
    .filter(({ flags }) => flags.length > 0)
    .map(({ name, flags }) => `      ${name}) words="${flags.map((flag) => `--${flag.name}`).join(' ')}" ;;`)
}

function wordCases(table: readonly Completed[]): readonly string[] {
  return table
    .filter(({ words }) => words.length > 0)
    .map(({ name, words }) => `      ${name}) words="${words.join(' ')}" ;;`)
}

function bash(table: readonly Completed[]): string {
  return `_muster() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  case "\${COMP_WORDS[1]} $previous" in
${valueCases(table).join('\n')}
  esac
  if [ -n "$words" ]; then
    :
  elif [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "\${COMP_WORDS[1]}" = help ]; }; then
    words="${table.map(({ name }) => name).join(' ')}"
  elif [[ "$current" == -* ]]; then
    case "\${COMP_WORDS[1]}" in
${flagCases(table).join('\n')}
    esac
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
${wordCases(table).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _muster muster`
}

function zsh(table: readonly Completed[]): string {
  return `autoload -U +X bashcompinit && bashcompinit
${bash(table)}`
}

function fish(table: readonly Completed[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`
  const none = `not __fish_seen_subcommand_from ${table.map(({ name }) => name).join(' ')}`
  return table
    .flatMap(({ name, summary, words, flags }) => {
      const within = `complete -c muster -n '__fish_seen_subcommand_from ${name}'`
      return [
        `complete -c muster -f -n ${quote(none)} -a ${name} -d ${quote(summary)}`,
        ...(words.length === 0 ? [] : [`${within} -a ${quote(words.join(' '))}`]),
        ...flags.map(({ name: flag, short, help, values }) => {
          const spelling = `${short === undefined ? '' : ` -s ${short}`} -l ${flag}`
          const choice = values.length === 0 ? '' : ` -x -a ${quote(values.join(' '))}`
          return `${within}${spelling}${choice} -d ${quote(help.split('\n', 1)[0]!)}`
        }),
      ]
    })
    .join('\n')
}

export default command
