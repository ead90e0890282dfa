import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { assetScripts, assetsName, makeAssets } from './assets-folder.ts'

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "muster-assets-it's "))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** The entries print their arguments, one a line. */
function scriptsIn(folder: string): ReturnType<typeof assetScripts> {
  const entry = path.join(folder, 'entry.cjs')
  writeFileSync(entry, 'console.log([process.pid, ...process.argv.slice(2)].join("\\n"))')
  return assetScripts({ node: [process.execPath, '--no-warnings'], entries: { 'kube-apiserver': entry, etcd: entry } })
}

function run(
  file: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): ReturnType<typeof spawnSync> {
  return spawnSync(file, words, { encoding: 'utf8', env })
}

describe('the folder of executables', () => {
  it('is created once, complete, and repaired if necessary', () => {
    const folder = newFolder()
    const scripts = scriptsIn(folder)
    const assets = path.join(folder, 'a', assetsName(scripts))
    makeAssets(assets, scripts)
    expect(readdirSync(assets).toSorted()).toEqual(['etcd', 'kube-apiserver', 'kubectl'])
    const { ino, mtimeMs } = statSync(path.join(assets, 'etcd'))
    makeAssets(assets, scripts)
    expect(statSync(path.join(assets, 'etcd'))).toMatchObject({ ino, mtimeMs })
    rmSync(path.join(assets, 'kubectl'))
    writeFileSync(path.join(assets, 'etcd'), 'cut off')
    chmodSync(path.join(assets, 'kube-apiserver'), 0o644)
    makeAssets(assets, scripts)
    for (const [name, text] of Object.entries(scripts)) {
      expect(readFileSync(path.join(assets, name), 'utf8')).toBe(text)
      expect(statSync(path.join(assets, name)).mode & 0o777).toBe(0o755)
    }
    expect(readdirSync(path.join(folder, 'a'))).toEqual([assetsName(scripts)])
  })

  it('is not accepted from another user', () => {
    const folder = newFolder()
    const scripts = scriptsIn(folder)
    const assets = path.join(folder, 'assets')
    mkdirSync(assets)
    chmodSync(assets, 0o777)
    expect(() => makeAssets(assets, scripts)).toThrow('can be written by another user')
  })

  it('has programs that replace their scripts by exec, with all arguments', () => {
    const folder = newFolder()
    makeAssets(path.join(folder, 'assets'), scriptsIn(folder))
    const { pid, stdout } = run(path.join(folder, 'assets', 'etcd'), ['--name', 'a b', "it's", ''])
    expect(String(stdout).split('\n')).toEqual([String(pid), '--name', 'a b', "it's", '', ''])
  })

  it('prints the help without Node, and reports a missing package', () => {
    const folder = newFolder()
    const entries = { 'kube-apiserver': '/gone/entry.cjs', etcd: '/gone/entry.cjs' }
    makeAssets(path.join(folder, 'assets'), assetScripts({ node: ['/gone/node'], entries }))
    const apiserver = path.join(folder, 'assets', 'kube-apiserver')
    const help = run(apiserver, ['--help'])
    expect(help).toMatchObject({ status: 0, stderr: '' })
    expect(help.stdout).toContain('--secure-port')
    expect(run(apiserver, [])).toMatchObject({
      status: 1,
      stderr: 'kube-apiserver: /gone/entry.cjs is gone: run muster envtest again\n',
    })
  })

  it('has the kubectl of the path, and reports when there is none', () => {
    const folder = newFolder()
    const [assets, tools] = [path.join(folder, 'assets'), path.join(folder, 'tools')]
    makeAssets(assets, scriptsIn(folder))
    mkdirSync(tools)
    writeFileSync(path.join(tools, 'kubectl'), '#!/bin/sh\necho "real: $*"\n', { mode: 0o755 })
    const usual = '/usr/bin:/bin'
    const kubectl = path.join(assets, 'kubectl')
    expect(run(kubectl, ['get', 'ns'], { PATH: `${assets}::${tools}:${usual}` }).stdout).toBe('real: get ns\n')
    const onlyShell = path.join(folder, 'shell')
    mkdirSync(onlyShell)
    expect(run('/bin/sh', [kubectl], { PATH: `${assets}:${onlyShell}` })).toMatchObject({
      status: 127,
      stderr: expect.stringContaining('kubectl: not found on the PATH') as string,
    })
  })
})
