/**
 * Writes docs/cli.md from the table of commands: `node scripts/generate-cli-doc.ts`. A test compares the file with the table.
 */
import { writeFileSync } from 'node:fs'
import type { Command, Flag } from '../src/cli/command/command.ts'
import { type CommandEntry, commands } from '../src/cli/commands.ts'

export const cliDocUrl: URL = new URL('../docs/cli.md', import.meta.url)

export async function cliDoc(): Promise<string> {
  const sections = await Promise.all(commands.map(async (entry) => section(entry, (await entry.load()).default)))
  const rows = commands.map(({ name, summary }) => `| [\`muster ${name}\`](#muster-${name}) | ${cell(summary)} |`)
  return `# Command line

Generated from the table of commands (\`src/cli/commands.ts\`). \`muster help COMMAND\` prints the same. Exit codes: 0 success, 1 a
negative result or an error, 2 wrong usage. Errors are one line, with a [code](errors.md).

| command | what it does |
| --- | --- |
${rows.join('\n')}

${sections.join('\n\n')}
`
}

function section({ name, summary }: CommandEntry, { usage, details, flags }: Command): string {
  const entries = Object.entries(flags)
  const line = `muster ${name}${usage === undefined ? '' : ` ${usage}`}${entries.length > 0 ? ' [flags]' : ''}`
  const rows = entries.map(([flag, option]) => `| ${flagCell(flag, option)} | ${cell(option.help)} |`)
  return [
    `## muster ${name}`,
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    `\`\`\`text\n${line}${details === undefined ? '' : `\n\n${details.trim()}`}\n\`\`\``,
    ...(rows.length > 0 ? [['| flag | what it does |', '| --- | --- |', ...rows].join('\n')] : []),
  ].join('\n\n')
}

function flagCell(name: string, { short, type, value, multiple = false }: Flag): string {
  const long = `\`--${name}${type === 'string' ? ` ${cell(value ?? 'VALUE')}` : ''}\``
  return `${short === undefined ? '' : `\`-${short}\`, `}${long}${multiple ? ' (repeatable)' : ''}`
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ')
}

if (import.meta.main) writeFileSync(cliDocUrl, await cliDoc())
