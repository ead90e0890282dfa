/**
 * `muster node`: runs the Node of muster: in a checkout the pinned one, with the condition that resolves the sources; else the
 * one that runs this command. The tests of a project use it, whatever Node is first on the path.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Command, defineCommand } from './command/command.ts'

const command: Command = defineCommand({
  usage: 'ARGUMENTS',
  details: 'All arguments are passed to Node: muster node --test runs the tests of a project.',
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
