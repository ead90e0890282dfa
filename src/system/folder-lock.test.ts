import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lockFile, lockFolder } from './folder-lock.ts'

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-lock-'))
  onTestFinished(async () => await rm(folder, { recursive: true, force: true }))
  return folder
}

/** Tries once the line `go` comes, says how it went, and keeps the lock until it is killed or its input ends. */
const contender = `
import { lockFolder } from ${JSON.stringify(new URL('folder-lock.ts', import.meta.url).href)}
process.stdout.write('ready\\n')
process.stdin.once('data', () => {
  const lock = lockFolder(process.argv[1])
  process.stdout.write('holder' in lock ? 'refused\\n' : 'locked by ' + process.pid + '\\n')
})
process.stdin.once('end', () => process.exit(0))
`

/** In the same namespace as this process, or in one of its own, where it is process 1. */
const here: readonly string[] = []
const elsewhere = ['unshare', '--pid', '--fork', '--kill-child']
const canUnshare = spawnSync(elsewhere[0]!, [...elsewhere.slice(1), 'true']).status === 0

interface Contender {
  readonly child: ChildProcess
  readonly says: () => Promise<string>
  readonly kill: () => Promise<void>
}

async function contend(folder: string, wrapper: readonly string[]): Promise<Contender> {
  const words = [...wrapper, process.execPath, '--input-type=module', '-e', contender, folder]
  const child = spawn(words[0]!, words.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const says = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]).trim()
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  expect(await says()).toBe('ready')
  return { child, says, kill }
}

/** All at once; returns who got the lock. */
async function race(contenders: readonly Contender[]): Promise<Contender> {
  const outcomes = contenders.map(({ says }) => says())
  for (const { child } of contenders) child.stdin!.write('go\n')
  const said = await Promise.all(outcomes)
  expect(said.filter((one) => one !== 'refused')).toHaveLength(1)
  return contenders[said.findIndex((one) => one !== 'refused')]!
}

describe('the lock of a folder', () => {
  it('is held once, names its holder, and is free when released', async () => {
    const folder = await newFolder()
    const lock = lockFolder(folder)
    expect(lockFolder(folder)).toEqual({ holder: `process ${process.pid} on ${hostname()}` })
    expect(await readFile(path.join(folder, 'lock.db'), 'utf8')).toBe('')
    if (!('release' in lock)) throw new Error('not locked')
    lock.release()
    const again = lockFolder(folder)
    expect(again).toHaveProperty('release')
    if ('release' in again) again.release()
  })

  it('cannot be taken where no file can be created', async () => {
    const file = path.join(await newFolder(), 'none', 'lock.db')
    expect(() => lockFile(file)).toThrow(/LockUnavailable|unable to open/)
  })

  const crowds: readonly (readonly [string, readonly (readonly string[])[]])[] = [
    ['processes', [here, here, here, here]],
    ...(canUnshare ? [['processes with pid 1 in their own namespaces', [elsewhere, elsewhere, here]] as const] : []),
  ]

  it.each(crowds)('is held by one of several %s, and by another when that one is killed', async (_name, wrappers) => {
    const folder = await newFolder()
    const first = await race(await Promise.all(wrappers.map((wrapper) => contend(folder, wrapper))))
    // However alike their numbers are: the one that asks now sees a file of a killed process with its own number.
    const late = await contend(folder, wrappers[0]!)
    const outcome = late.says()
    late.child.stdin!.write('go\n')
    expect(await outcome).toBe('refused')
    await first.kill()
    await race(await Promise.all(wrappers.map((wrapper) => contend(folder, wrapper))))
  })
})
