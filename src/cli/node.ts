/**
 * Node as muster runs it: the pinned one in a checkout, with what it needs to find the sources; the one that started it
 * elsewhere. A project's tests run on it, whatever Node comes first on the path.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Command, defineCommand } from './command.ts'

const command: Command = defineCommand({
  usage: 'ARGUMENTS',
  details: 'All that follows is for Node: muster node --test runs the tests of a project.',
  flags: {},
  verbatim: true,
  async run({ positionals, signal }) {
    const child = spawn(process.execPath, [...process.execArgv, ...positionals], { stdio: 'inherit' })
    signal.addEventListener('abort', () => child.kill('SIGTERM'))
    const [code] = (await once(child, 'exit')) as [number | null]
    return code ?? 1
  },
})

export default command
