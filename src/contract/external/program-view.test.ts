import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { viewOf } from './program-view.ts'

let home = ''
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'muster-view-'))
  chmodSync(home, 0o755)
  return () => rmSync(home, { recursive: true, force: true })
})

const at = (name: string): string => path.join(home, name)
function file(name: string, text = '', mode = 0o755): string {
  mkdirSync(path.dirname(at(name)), { recursive: true })
  writeFileSync(at(name), text)
  chmodSync(at(name), mode)
  return at(name)
}

describe('the file view of a program', () => {
  it('contains its file and the files among its arguments, and nothing else', () => {
    const [command, script] = [file('bin/tool'), file('bin/script.py')]
    file('bin/secret')
    const program = { command, args: ['-x', 'script.py', 'missing', '..', 'y'.repeat(5000)], folder: at('bin') }
    expect(viewOf(program, '')).toEqual({ readable: [command, script], covered: [], problem: undefined })
  })

  it('contains the interpreter of a first line, also by env, and its installation', () => {
    const [python, node] = [file('runtimes/python/bin/python3.13'), file('runtimes/node/bin/node')]
    const named = file('project/named.py', `#!${python} -u\n`)
    const byEnv = file('project/by-env', '#!/usr/bin/env -S node --flag\n')
    expect(viewOf({ command: named }, '').readable).toEqual([named, python, at('runtimes/python')])
    expect(viewOf({ command: byEnv }, path.dirname(node)).readable).toEqual(expect.arrayContaining([byEnv, node]))
    expect(viewOf({ command: byEnv }, path.dirname(node)).readable).not.toContain(at('runtimes/node'))
  })

  it('contains the packages of a Node script', () => {
    const script = file('project/deep/operator.mjs')
    file('project/package.json')
    file('project/node_modules/some/index.js')
    const { readable } = viewOf({ command: '/usr/bin/env', args: [script] }, '')
    expect(readable).toEqual(expect.arrayContaining([script, at('project/package.json'), at('project/node_modules')]))
    expect(readable).not.toContain(at('project/deep'))
  })

  it('contains the targets of symbolic links, one by one', () => {
    const real = file('real/tool')
    symlinkSync('../real/tool', file('links/x') && at('links/second'))
    symlinkSync('second', at('links/first'))
    expect(viewOf({ command: at('links/first') }, '').readable).toEqual([at('links/first'), at('links/second'), real])
  })

  it('never contains a home folder, or a parent of one, as the installation of an interpreter', () => {
    for (const python of [file('people/bin/python3'), file('people/ann/bin/python3')]) {
      expect(viewOf({ command: python }, '', at('people/ann')).readable).toEqual([python])
    }
  })

  it('contains listed files, without the hidden ones', () => {
    const command = file('project/operator/tool')
    for (const name of ['.muster/kubeconfig', 'muster.yaml', 'cluster']) file(`project/${name}`)
    const before = process.env['KUBECONFIG']
    process.env['KUBECONFIG'] = `${at('project/cluster')}:${at('elsewhere')}`
    try {
      const hidden = [at('project/muster.yaml'), at('beside')]
      const { readable, covered } = viewOf({ command, readable: [at('project')], hidden }, '')
      expect(readable).toEqual([command, at('project')])
      expect(covered.toSorted()).toEqual([at('project/.muster'), at('project/cluster'), at('project/muster.yaml')])
    } finally {
      if (before === undefined) delete process.env['KUBECONFIG']
      else process.env['KUBECONFIG'] = before
    }
  })

  it('is empty for a missing program', () => {
    expect(viewOf({ command: 'no-such-tool' }, home).problem).toBe('there is no no-such-tool in PATH')
  })

  it.runIf(process.getuid?.() === 0)('must be readable for other users, where the manager is root', () => {
    const command = file('tool', '', 0o700)
    expect(viewOf({ command }, '').problem).toMatch(/tool is readable for its owner alone.*chmod o\+rX it$/)
    const folder = path.dirname(file('folder/x'))
    chmodSync(folder, 0o700)
    expect(viewOf({ command: file('other'), readable: [folder] }, '').problem).toContain(`${folder} is readable`)
  })
})
