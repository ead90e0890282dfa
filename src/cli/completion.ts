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
  readonly flags: readonly { readonly name: string; readonly help: string }[]
}

async function wordTable(): Promise<readonly Completed[]> {
  const loaded = commands.map(async (entry) => {
    const { name, summary } = entry
    const { default: one } = await entry.load()
    return { name, summary, flags: Object.entries(one.flags).map(([flag, { help }]) => ({ name: flag, help })) }
  })
  return [...(await Promise.all(loaded)), { name: 'help', summary: 'describe one command', flags: [] }]
}

const shells = { bash, zsh, fish }

function cases(table: readonly Completed[], indent: string): string {
  return table
    .filter(({ flags }) => flags.length > 0)
    .map(({ name, flags }) => `${indent}${name}) words="${flags.map((flag) => `--${flag.name}`).join(' ')}" ;;`)
    .join('\n')
}

function bash(table: readonly Completed[]): string {
  return `_muster() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "\${COMP_WORDS[1]}" = help ]; }; then
    words="${table.map(({ name }) => name).join(' ')}"
  elif [[ "$current" == -* ]]; then
    case "\${COMP_WORDS[1]}" in
${cases(table, '      ')}
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
  return [
    ...table.map(({ name, summary }) => `complete -c muster -f -n ${quote(none)} -a ${name} -d ${quote(summary)}`),
    ...table.flatMap(({ name, flags }) =>
      flags.map(
        (flag) =>
          `complete -c muster -n '__fish_seen_subcommand_from ${name}' -l ${flag.name} -d ${quote(flag.help.split('\n', 1)[0]!)}`,
      ),
    ),
  ].join('\n')
}

export default command
