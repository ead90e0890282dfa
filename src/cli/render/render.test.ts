import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readGoldens, renderFolder } from '../../../test/render/cases.ts'
import { packed, packedChart } from '../../../test/render/chart-server.ts'
import { fluxType, startRegistryDouble } from '../../../test/render/registry-double.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { renderErrors } from '../../render/errors.ts'
import { type Flags, type FlagValues, parseArguments } from '../command/command.ts'
import command from './render.ts'

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'muster-render-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** A chart with one template. */
function chartFolder(template: string): string {
  const chart = folder()
  mkdirSync(path.join(chart, 'templates'))
  writeFileSync(path.join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: web\nversion: 1.0.0\n')
  writeFileSync(path.join(chart, 'templates', 'a.yaml'), template)
  return chart
}

async function muster(...words: readonly string[]): Promise<string> {
  const lines: string[] = []
  const { flags, positionals } = parseArguments(command.flags, words)
  const code = await command.run({
    flags: flags as FlagValues<Flags>,
    positionals,
    out: (line) => void lines.push(line),
    err: (line) => void lines.push(`stderr: ${line}`),
    signal: new AbortController().signal,
  })
  expect(code).toBe(0)
  return `${lines.join('\n')}\n`
}

describe('muster render', () => {
  it('prints a chart as helm template does', async () => {
    const chart = path.join(renderFolder, 'charts', 'umbrella')
    expect(await muster(chart, '--name', 'rel')).toBe(readGoldens('umbrella')['umbrella-plain']?.output)
  })

  it('prints objects on request, and renders archives', async () => {
    const archive = path.join(folder(), 'web.tgz')
    writeFileSync(archive, packedChart('web', '1.0.0').toString('base64'), 'base64')
    const chart = (await muster(archive, '--output', 'json').catch((error: unknown) => error)) as {
      readonly code: string
    }
    // A template without apiVersion is rendered, but is no object.
    expect(chart.code).toBe(renderErrors.InvalidManifest.code)
    expect(await muster(archive)).toContain('name: web-1.0.0')
  })

  it('prints artifacts of a registry: manifests, kustomizations, and charts in a folder', async () => {
    const registry = await startRegistryDouble()
    const object = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`
    const files = {
      'base/a.yaml': object('a'),
      'base/kustomization.yaml': 'namePrefix: my-\nresources: [a.yaml]\n',
      'chart/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'chart/templates/b.yaml': object('{{ .Release.Name }}'),
    }
    const entries = Object.entries(files).map(([name, text]) => ({ name, text }))
    registry.push('team/app', 'v1', [{ mediaType: fluxType, data: packed(entries) }])
    const rendered = (...words: readonly string[]): Promise<string> =>
      muster(`oci://${registry.host}/team/app:v1`, '--plain-http', '--cache-dir', folder(), ...words)
    expect(await rendered('--kind', 'manifests', '--path', 'base/a.yaml')).toContain('name: a\n')
    expect(await rendered('--kind', 'Kustomization', '--path', 'base')).toContain('name: my-a\n')
    expect(await rendered('--path', 'chart', '--name', 'rel')).toContain('name: rel')
    await expect(rendered('--kind', 'Manifests', '--set', 'a=1')).rejects.toThrow('--set is for charts')
    await expect(muster(folder(), '--kind', 'Manifests')).rejects.toThrow('is for artifacts of a registry')
  })

  it('renders includes as deep as Helm does, and says so beyond', async () => {
    const chart = chartFolder(
      '{{ define "x" }}{{ if gt . 0 }}{{ with . }}{{ include "x" (int (sub . 1)) }}{{ end }}{{ end }}{{ end }}' +
        'kind: A\nname: x{{ include "x" (int .Values.levels) }}\n',
    )
    expect(await muster(chart, '--set', 'levels=1000')).toContain('kind: A\nname: x\n')
    await expect(muster(chart, '--set', 'levels=1001')).rejects.toMatchObject({
      code: renderErrors.TemplateFailed.code,
      message: expect.stringContaining('rendering template has a nested reference name: x'),
    })
  })

  it('refuses manifests that are not UTF-8, as Helm does, and prints such notes', async () => {
    const chart = chartFolder('kind: A\nname: {{ trunc 2 .Values.name }}\n')
    expect(await muster(chart, '--set', 'name=hello')).toContain('name: he\n')
    await expect(muster(chart, '--set', 'name=héllo')).rejects.toMatchObject({
      code: renderErrors.InvalidManifest.code,
      message: 'web/templates/a.yaml: the rendered text is not UTF-8.',
    })
  })

  it('names the file of the chart that is wrong by its path', async () => {
    const chart = chartFolder('')
    writeFileSync(path.join(chart, 'Chart.yaml'), 'apiVersion: v2\nversion: 1.0.0\n')
    await expect(muster(`${chart}/`)).rejects.toThrow(`${chart}/Chart.yaml`)
  })

  it('ends by a signal while a template holds the thread', async () => {
    const endless = '{{ range until 1000 }}{{ range until 10000 }}{{ bcrypt "x" }}{{ end }}{{ end }}'
    const chart = chartFolder(`{{ randBytes 1 }}${endless}`)
    // Says when the template runs: it asks for random bytes.
    const preload = `import crypto from 'node:crypto'; import { writeSync } from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
      const { randomBytes } = crypto; crypto.randomBytes = (size) => (writeSync(1, 'running'), randomBytes(size)); syncBuiltinESMExports()`
    const main = fileURLToPath(new URL('../main.ts', import.meta.url))
    const options = ['--conditions=muster-source', '--import', `data:text/javascript,${encodeURIComponent(preload)}`]
    const child = spawn(process.execPath, [...options, main, 'render', chart])
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    await Promise.race([once(child.stdout, 'data'), ended])
    child.kill('SIGTERM')
    expect(await ended).toEqual([null, 'SIGTERM'])
  })

  it('prints plain manifests: files, folders and lists', async () => {
    const place = folder()
    mkdirSync(path.join(place, 'sub'))
    const object = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`
    writeFileSync(path.join(place, 'b.yaml'), `${object('two')}---\n${object('three')}`)
    writeFileSync(
      path.join(place, 'a.json'),
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'Secret' }] }),
    )
    writeFileSync(path.join(place, 'sub', 'c.yml'), object('four'))
    writeFileSync(path.join(place, 'notes.txt'), 'no manifest')
    const text = await muster(place)
    expect(text.match(/kind: \w+|name: \w+/g)).toEqual([
      'kind: Secret',
      ...['two', 'three', 'four'].flatMap((name) => ['kind: ConfigMap', `name: ${name}`]),
    ])
    await expect(muster(place, '--set', 'a=1')).rejects.toMatchObject({ code: flagErrors.InvalidFlag.code })
  })

  it('renders a kustomization that uses folders beside its own', async () => {
    const place = folder()
    for (const name of ['base', 'overlay']) mkdirSync(path.join(place, name))
    writeFileSync(path.join(place, 'base', 'kustomization.yaml'), 'resources: [a.yaml]\n')
    writeFileSync(path.join(place, 'base', 'a.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n')
    writeFileSync(path.join(place, 'overlay', 'kustomization.yaml'), 'resources: [../base]\nnamePrefix: my-\n')
    expect(await muster(path.join(place, 'overlay'))).toBe('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: my-a\n')
  })

  it('keeps generated values in a file that only its owner may read', async () => {
    const place = folder()
    mkdirSync(path.join(place, 'chart', 'templates'), { recursive: true })
    writeFileSync(path.join(place, 'chart', 'Chart.yaml'), 'apiVersion: v2\nname: web\nversion: 1.0.0\n')
    writeFileSync(path.join(place, 'chart', 'templates', 'a.yaml'), 'kind: A\npassword: {{ randAlphaNum 20 }}\n')
    const file = path.join(place, 'generated.json')
    const first = await muster(path.join(place, 'chart'), '--generated', file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await muster(path.join(place, 'chart'), '--generated', file)).toBe(first)
    expect(await muster(path.join(place, 'chart'))).not.toBe(first)
    expect(readFileSync(file, 'utf8')).toContain(/password: (\w+)/.exec(first)?.[1])
    writeFileSync(file, '[]')
    await expect(muster(path.join(place, 'chart'), '--generated', file)).rejects.toMatchObject({
      code: flagErrors.InvalidFlag.code,
    })
  })

  it('reports what is wrong with its arguments', async () => {
    await expect(muster()).rejects.toMatchObject({ code: flagErrors.InvalidFlag.code })
    await expect(muster('no-such-folder')).rejects.toMatchObject({ code: renderErrors.SourceNotFound.code })
    await expect(muster('.', '--values', 'no-such-file')).rejects.toThrow(/--values/)
    const chart = path.join(renderFolder, 'charts', 'printer')
    await expect(muster(chart, '--username', 'me')).rejects.toMatchObject({ code: flagErrors.InvalidFlag.code })
    await expect(muster(chart, '--set-file', 'a=no-such-file')).rejects.toThrow(/no-such-file/)
  })
})
