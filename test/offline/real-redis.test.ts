import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { realRedis } from '../../scripts/real-redis.ts'

describe('the real database', () => {
  let folder = ''
  const program = async (name: string, script: string): Promise<void> => {
    await writeFile(path.join(folder, name), `#!/bin/sh\n${script}\n`)
    await chmod(path.join(folder, name), 0o755)
  }
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'muster-redis-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('without one and without a way to get one, the message explains what to do', async () => {
    await expect(realRedis({ PATH: folder, HOME: folder })).rejects.toMatchObject({
      name: 'BinaryMissing',
      message: expect.stringMatching(/redis is needed, .*Put it on the path/) as string,
    })
  })

  it('a package that cannot be fetched is an error with its cause', async () => {
    for (const name of ['apt-get', 'apt-cache']) await program(name, 'echo "E: Unable to locate package" >&2; exit 100')
    await expect(realRedis({ PATH: folder, HOME: folder })).rejects.toMatchObject({
      name: 'BinaryMissing',
      message: expect.stringContaining('E: Unable to locate package') as string,
    })
  })

  it('a program on the path is used, with the version that it reports', async () => {
    await program('redis-server', 'echo "Redis server v=9.9.9 sha=0 bits=64"')
    await program('redis-cli', 'echo redis-cli 9.9.9')
    const [server, cli] = [path.join(folder, 'redis-server'), path.join(folder, 'redis-cli')]
    expect(await realRedis({ PATH: folder, HOME: folder })).toEqual({ server, cli, environment: {}, version: '9.9.9' })
  })
})
