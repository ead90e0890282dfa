import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../test/loopback.ts'
import { isAlive, isGroupAlive, ownIdentity, readIdentity } from './process-identity.ts'

describe('the identity of a process', () => {
  it('is alive while the process is', async () => {
    const own = await ownIdentity()
    expect(own).toMatchObject({ pid: process.pid, startTime: expect.stringMatching(/^\d+$/) as string })
    expect(await isAlive(own)).toBe(true)
    expect(readIdentity(JSON.parse(JSON.stringify(own)))).toEqual(own)
  })

  it('differs from another process with the same pid, and from one after a reboot', async () => {
    const own = await ownIdentity()
    expect(await isAlive({ ...own, startTime: '1' })).toBe(false)
    expect(await isGroupAlive({ ...own, startTime: '1' })).toBe(false)
    expect(await isAlive({ ...own, world: 'another machine' })).toBe(false)
    expect(await isGroupAlive({ ...own, world: 'another machine' })).toBe(false)
  })

  it.each([undefined, {}, { pid: 1 }, { pid: '1', startTime: '1', world: '' }, { pid: -1, startTime: '1', world: '' }])(
    'cannot be parsed from %j',
    (value) => expect(readIdentity(value)).toBeUndefined(),
  )

  it('stays alive with its process group, when the leader was killed and its children were not', async () => {
    // The leader tells its identity and the number of a child, which lives until it is killed.
    const script = `
      const { spawn } = require('node:child_process'), { readFileSync } = require('node:fs')
      const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 60000)'], { stdio: 'ignore' })
      child.once('spawn', () => {
        const stat = readFileSync('/proc/self/stat', 'utf8')
        console.log(process.pid, stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19], child.pid)
      })`
    const leader = spawn(process.execPath, ['-e', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(createInterface({ input: leader.stdout }), 'line')) as [string]
    const [pid = '', startTime = '', child = ''] = line.split(' ')
    const identity = { ...(await ownIdentity()), pid: Number(pid), startTime }
    expect(await isAlive(identity)).toBe(true)
    const gone = once(leader, 'exit')
    leader.kill('SIGKILL')
    await gone
    expect(await isAlive(identity)).toBe(false)
    expect(await isGroupAlive(identity)).toBe(true)
    process.kill(Number(child), 'SIGKILL')
    let isLeft = true
    const look = async (): Promise<void> => {
      while (isLeft) isLeft = await isGroupAlive(identity)
    }
    void look()
    await eventually(() => !isLeft)
    expect(await isGroupAlive(identity)).toBe(false)
  })
})
