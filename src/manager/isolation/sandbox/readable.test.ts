import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openRunner } from '../open-runner.ts'
import { readablePaths } from './readable.ts'

const project = realpathSync(mkdtempSync(path.join(tmpdir(), 'muster-project-')))
const at = (...parts: readonly string[]): string => path.join(project, ...parts)
const file = (name: string, text = 'content'): void => {
  mkdirSync(path.dirname(at(name)), { recursive: true })
  writeFileSync(at(name), text)
}

/** An operator at the top of a project, as a new project has it, and around it all that is not for it. */
beforeAll(() => {
  file('operator.mjs', 'export const operator = 1')
  file('package.json', '{}')
  file('templates/page.txt')
  file('.muster/kubeconfig')
  file('.muster/data/journal')
  file('muster.yaml')
  file('pki/admin.key')
  file('pki/public.pem')
  file('pki/token')
  file(
    'clusters/edge.kubeconfig',
    JSON.stringify({
      users: [
        { name: 'a', user: { tokenFile: '../pki/token' } },
        { name: 'b', user: { 'client-key': at('pki/admin.key'), 'client-certificate': '../pki/admin.crt' } },
      ],
    }),
  )
  symlinkSync(at('.muster', 'kubeconfig'), at('link'))
  symlinkSync(at('pki', 'public.pem'), at('other-link'))
})
afterAll(() => rmSync(project, { recursive: true }))

describe('the readable files of an isolated operator', () => {
  const own = (secrets: readonly string[]): readonly string[] =>
    readablePaths(at('operator.mjs'), secrets)
      .filter((each) => each.startsWith(project))
      .map((each) => path.relative(project, each))
      .toSorted()

  it('are its whole folder where there are no secrets', () => {
    expect(own([])).toEqual([''])
    expect(own(['/elsewhere', at('..', 'elsewhere'), `${project}-2/key`])).toEqual([''])
  })

  it('exclude secrets in its folder: those that exist, are created later, or have another name', () => {
    const rest = ['clusters', 'muster.yaml', 'operator.mjs', 'other-link', 'package.json', 'templates']
    const secrets = [at('.muster'), at('link'), at('pki', 'admin.key'), at('pki', 'token'), at('pki', 'admin.crt')]
    expect(own(secrets)).toEqual([...rest, 'pki/public.pem'].toSorted())
    // A link to a secret is one.
    expect(own([at('.muster', 'kubeconfig'), at('pki')])).toEqual(
      ['.muster/data', ...rest].filter((each) => each !== 'other-link').toSorted(),
    )
    // Nothing of it is there yet.
    expect(own([at('later', 'kubeconfig')])).not.toContain('')
  })

  it('include its own file even in a hidden folder: the operator could not be loaded', () => {
    expect(own([project])).toEqual([''])
  })
})

describe('a worker in the root of its project', { timeout: 60_000 }, () => {
  const readBy = async (names: readonly string[], secrets: readonly string[] = []): Promise<readonly string[]> => {
    const code = `import fs from 'node:fs'
      const isReadable = (file) => { try { fs.readFileSync(file); return true } catch { return false } }
      throw new Error('read ' + ${JSON.stringify(names)}.filter(isReadable).join())`
    file('operator.mjs', code)
    const opening = openRunner('worker', { module: at('operator.mjs'), secrets })
    const { message } = await opening.then(
      () => new Error('opened'),
      (error: unknown) => error as Error,
    )
    expect(message).toContain('Error: read ')
    return message.slice(message.indexOf('Error: read ') + 12).split(',')
  }

  it('reads neither kubeconfigs of the project nor the files they refer to, and still starts', async () => {
    vi.stubEnv('KUBECONFIG', [at('clusters/edge.kubeconfig'), at('.muster/kubeconfig')].join(path.delimiter))
    try {
      const files = ['.muster/kubeconfig', 'clusters/edge.kubeconfig', 'pki/token', 'pki/admin.key', 'link']
      const read = await readBy([...files, 'pki/public.pem', 'templates/page.txt'].map((name) => at(name)))
      expect(read).toEqual([at('pki/public.pem'), at('templates/page.txt')])
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('reads nothing of the folder that the manager was started in', async () => {
    const elsewhere = ['README.md', 'package-lock.json', 'docs/errors.md'].map((name) => path.resolve(name))
    expect(await readBy([...elsewhere, at('templates/page.txt')])).toEqual([at('templates/page.txt')])
  })

  it('reads no file of the manager in the settings', async () => {
    const read = await readBy(
      [at('muster.yaml'), at('.muster/data/journal'), at('package.json')],
      [at('muster.yaml'), at('.muster')],
    )
    expect(read).toEqual([at('package.json')])
  })
})
