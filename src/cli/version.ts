import { readFile } from 'node:fs/promises'
import { defineCommand, type Command } from './command/command.ts'

const command: Command = defineCommand({
  flags: {},
  async run({ out }) {
    const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
    const { version } = JSON.parse(text) as { readonly version: string }
    out(`muster ${version} (node ${process.versions.node})`)
    return 0
  },
})

export default command
