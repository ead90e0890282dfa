import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { packed, packedChart, type TarEntry } from '../../../test/render/chart-server.ts'
import { renderErrors } from '../errors.ts'
import { unpackChart } from './archive.ts'

const good: TarEntry = { name: 'web/Chart.yaml', text: 'name: web' }
const textOf = (data: Uint8Array | undefined): string => new TextDecoder().decode(data)

describe('a chart archive', () => {
  it('has the files below its folder', () => {
    const files = unpackChart(packedChart('web', '1.0.0'), 'web.tgz')
    expect([...files.keys()]).toEqual(['Chart.yaml', 'templates/a.yaml'])
    expect(textOf(files.get('Chart.yaml'))).toContain('name: web')
  })

  it('may have long names, in the ways of GNU and of pax', () => {
    const long = `web/templates/${'x'.repeat(120)}.yaml`
    const record = `path=${long}\n`
    const length = record.length + 4
    const files = unpackChart(
      packed([
        { name: '././@LongLink', type: 'L', text: `${long}\0` },
        { name: 'cut', text: 'gnu' },
        {
          name: 'pax',
          type: 'x',
          text: `${length} ${record.replace('.yaml', '.yml')}`.replace(String(length), String(length - 1)),
        },
        { name: 'cut', text: 'pax' },
        { name: 'pax_global_header', type: 'g', text: '' },
      ]),
      'web.tgz',
    )
    expect([...files].map(([name, data]) => [name.length, textOf(data)])).toEqual([
      [135, 'gnu'],
      [134, 'pax'],
    ])
  })

  it('loses byte order marks, and keeps folders out', () => {
    const files = unpackChart(
      packed([
        { name: 'web/', type: '5' },
        { name: 'web/a', text: '\uFEFFx' },
      ]),
      'web.tgz',
    )
    expect([...files].map(([name, data]) => [name, textOf(data)])).toEqual([['a', 'x']])
  })

  const bad: Readonly<Record<string, readonly TarEntry[]>> = {
    'a path that leads out': [{ name: 'web/../../etc/passwd', text: 'x' }],
    'a path that leads out, in the way of Windows': [{ name: String.raw`web\..\..\x`, text: 'x' }],
    'an absolute path': [{ name: '/etc/passwd', text: 'x' }],
    'a drive': [{ name: 'c:/x', text: 'x' }],
    'a symbolic link': [{ name: 'web/a', type: '2', link: '/etc/passwd' }],
    'a hard link': [{ name: 'web/a', type: '1', link: 'web/Chart.yaml' }],
    'a device': [{ name: 'web/a', type: '3' }],
    'a pipe': [{ name: 'web/a', type: '6' }],
    'a sparse file': [{ name: 'web/a', type: 'S' }],
    'the same name twice': [
      { name: 'web/a', text: '1' },
      { name: 'web/./a', text: '2' },
    ],
    'a file outside of its folder': [{ name: 'Chart.yaml', text: 'x' }],
    'a size beyond its end': [{ name: 'web/a', text: 'x', size: 2 ** 30 }],
  }
  it.for(Object.entries(bad))('is refused whole if it has %s', ([, entries]) => {
    expect(() => unpackChart(packed([good, ...entries]), 'web.tgz')).toThrow(
      expect.objectContaining({ code: renderErrors.InvalidArchive.code }),
    )
  })

  it('is refused if it is no archive, is damaged or is empty', () => {
    const whole = packedChart('web', '1.0.0')
    for (const data of [
      Buffer.from('name: web'),
      gzipSync('no tar at all'.repeat(100)),
      whole.subarray(0, 80),
      packed([]),
    ])
      expect(() => unpackChart(data, 'web.tgz')).toThrow(
        expect.objectContaining({ code: renderErrors.InvalidArchive.code }),
      )
  })

  it('is refused if it is a bomb: by its ratio, its size or its number of files', () => {
    const bomb = packed([good, { name: 'web/zeros', text: '\0'.repeat(30_000_000) }])
    expect(bomb.length).toBeLessThan(100_000)
    expect(() => unpackChart(bomb, 'bomb.tgz')).toThrow(/unpacks to more than/)
    const many = packed([good, ...Array.from({ length: 20 }, (_, at) => ({ name: `web/${at}`, text: 'x' }))])
    expect(() => unpackChart(many, 'many.tgz', { files: 10 })).toThrow(/more than 10 files/)
    expect(() => unpackChart(many, 'many.tgz', { unpacked: 5000 })).toThrow(/unpacks to more than 5000/)
    expect(() => unpackChart(many, 'many.tgz', { packed: 100 })).toThrow(/larger than 100/)
  })
})
