import { mkdir, mkdtemp, open, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { fileSource, placesOf } from './file-source.ts'
import { type OpenConfiguration, openConfiguration } from './open-configuration.ts'

let folder: string
let opened: OpenConfiguration | undefined
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-config-'))
})
afterEach(async () => {
  await opened?.close()
  opened = undefined
  await rm(folder, { recursive: true, force: true })
})

interface Followed {
  /** Of the configuration in force, each time there is another. */
  readonly concurrency: number[]
  readonly problems: string[]
  /** Advances the clock until the source reports a change or a problem. File system events arrive in real time. */
  readonly next: () => Promise<void>
  readonly clock: VirtualClock
}

async function follow(file: string): Promise<Followed> {
  const clock = virtualClock()
  const concurrency: number[] = []
  const problems: string[] = []
  opened = await openConfiguration({
    source: fileSource(file, { clock }),
    onChange: ({ settings }) => void concurrency.push(settings.concurrency),
    onProblem: ({ message }) => void problems.push(message.replaceAll(folder, '')),
  })
  return {
    clock,
    concurrency,
    problems,
    async next() {
      const before = concurrency.length + problems.length
      for (let turn = 0; concurrency.length + problems.length === before; turn++) {
        if (turn > 5000) throw new Error('nothing was told')
        await clock.advance(100)
      }
    },
  }
}

describe('a configuration in a file', () => {
  it('must exist and be valid when the manager starts', async () => {
    const file = path.join(folder, 'muster.yaml')
    await expect(follow(file)).rejects.toThrow('muster.yaml is not there')
    await writeFile(file, 'concurency: 2\n')
    await expect(follow(file)).rejects.toThrow('muster.yaml:1): there is no key "concurency" here')
    await writeFile(file, '{ "concurrency": 2 }')
    await follow(file)
    expect(opened?.current.settings.concurrency).toBe(2)
  })

  it('is followed when it is written in place, broken and fixed', async () => {
    const file = path.join(folder, 'muster.yaml')
    await writeFile(file, 'concurrency: 2\n')
    const { next, concurrency, problems } = await follow(file)
    await writeFile(file, 'concurrency: many\n')
    await next()
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain('concurrency (/muster.yaml:1)')
    expect(opened?.current.settings.concurrency).toBe(2)
    await writeFile(file, 'concurrency: 3\n')
    await next()
    expect(concurrency).toEqual([3])
    expect(opened?.problem).toBeUndefined()
  })

  it('is followed when an editor replaces it repeatedly', async () => {
    const file = path.join(folder, 'muster.yaml')
    await writeFile(file, 'concurrency: 2\n')
    const { next, concurrency, problems } = await follow(file)
    for (const number of [3, 4]) {
      await writeFile(`${file}~`, `concurrency: ${number}\n`)
      await rename(`${file}~`, file)
      await next()
    }
    expect(concurrency).toEqual([3, 4])
    await rm(file)
    await next()
    expect(problems).toEqual(['/muster.yaml is not there.'])
    await writeFile(file, 'concurrency: 5\n')
    await next()
    expect([concurrency, problems.length]).toEqual([[3, 4, 5], 1])
  })

  it('is followed through swapped symbolic links, as Kubernetes mounts ConfigMaps', async () => {
    const volume = path.join(folder, 'volume')
    const put = async (version: string, text: string): Promise<void> => {
      await mkdir(path.join(volume, version), { recursive: true })
      await writeFile(path.join(volume, version, 'muster.yaml'), text)
      await symlink(version, path.join(volume, '..data_tmp'))
      await rename(path.join(volume, '..data_tmp'), path.join(volume, '..data'))
    }
    await put('..1', 'concurrency: 2\n')
    const file = path.join(volume, 'muster.yaml')
    await symlink('..data/muster.yaml', file)
    const { next, concurrency } = await follow(file)
    await put('..2', 'concurrency: 3\n')
    await next()
    await rm(path.join(volume, '..1'), { recursive: true })
    await put('..3', 'concurrency: 4\n')
    await next()
    expect(concurrency).toEqual([3, 4])
  })

  it('takes effect only when stable: a half-written file is ignored', async () => {
    const file = path.join(folder, 'muster.yaml')
    await writeFile(file, 'concurrency: 2\n')
    const { next, clock, concurrency, problems } = await follow(file)
    const writer = await open(file, 'w')
    // In order after each piece, and meant only at the end.
    for (const piece of ['concurrency: 3', '3', '\nmetrics:', '\n  port: 4\n']) {
      await writer.write(piece)
      await writer.sync()
      await clock.advance(50)
    }
    await writer.close()
    await next()
    expect(problems).toEqual([])
    expect(concurrency).toEqual([33])
    expect(opened?.current.settings.metrics.port).toBe(4)
  })

  it('is polled where there are no notifications', async () => {
    const file = path.join(folder, 'later', 'muster.yaml')
    await mkdir(path.dirname(file))
    await writeFile(file, 'concurrency: 2\n')
    const { next, concurrency } = await follow(file)
    // The folder that is watched is another one now.
    await rename(path.dirname(file), path.join(folder, 'old'))
    await mkdir(path.dirname(file))
    await writeFile(file, 'concurrency: 3\n')
    await next()
    expect(concurrency).toEqual([3])
  })
})

describe('the watched folders of a file', () => {
  it('are all folders in which a component of its path can be replaced', async () => {
    await mkdir(path.join(folder, 'releases', '5'), { recursive: true })
    await writeFile(path.join(folder, 'releases', '5', 'muster.yaml'), '')
    await symlink('releases/5', path.join(folder, 'current'))
    const places = await placesOf(path.join(folder, 'current', 'muster.yaml'))
    expect(places.get(folder)).toEqual(new Set(['current']))
    expect(places.get(path.join(folder, 'releases', '5'))).toEqual(new Set(['muster.yaml']))
    await symlink('circle', path.join(folder, 'circle'))
    expect((await placesOf(path.join(folder, 'circle', 'x'))).has(folder)).toBe(true)
  })
})
