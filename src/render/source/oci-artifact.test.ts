import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { emptyFolder } from '../../../test/project.ts'
import { packed, testClock, type TarEntry } from '../../../test/render/chart-server.ts'
import {
  type ArtifactLayer,
  fluxType,
  type RegistryDouble,
  startRegistryDouble,
} from '../../../test/render/registry-double.ts'
import { seededRandom } from '../../clock/random.ts'
import { renderErrors } from '../errors.ts'
import type { ChartSourceOptions } from './chart-source.ts'
import { resolveVersion } from './moving-version.ts'
import { fetchArtifact } from './oci-artifact.ts'
import { archiveDigest } from './source-cache.ts'

const manifest = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`
const flux = (entries: readonly TarEntry[]): ArtifactLayer => ({ mediaType: fluxType, data: packed(entries) })
const text = (content: string, mediaType: string, title?: string): ArtifactLayer => ({
  mediaType,
  data: Buffer.from(content),
  ...(title !== undefined && { title }),
})
const error = (definition: { readonly code: string }): unknown => expect.objectContaining({ code: definition.code })
const source = ({ host }: RegistryDouble, tag = ':v1'): { readonly source: string } => ({
  source: `oci://${host}/team/app${tag}`,
})

function services(more: Partial<ChartSourceOptions> = {}): ChartSourceOptions {
  return { clock: testClock(), random: seededRandom(1), warn: () => undefined, env: {}, plainHttp: true, ...more }
}

async function fetched(layers: readonly ArtifactLayer[]): Promise<Readonly<Record<string, string>>> {
  const registry = await startRegistryDouble()
  registry.push('team/app', 'v1', layers)
  const { files } = await fetchArtifact(source(registry), services())
  return Object.fromEntries([...files].map(([name, data]) => [name, new TextDecoder().decode(data)]))
}

describe('an artifact in a registry', () => {
  it.for<readonly [string, readonly ArtifactLayer[]]>([
    [
      'flux push artifact',
      [
        flux([
          { name: './', type: '5' },
          { name: './a/b.yaml', text: 'x' },
        ]),
      ],
    ],
    [
      'oras push, of a folder',
      [
        {
          mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
          data: packed([{ name: 'a/b.yaml', text: 'x' }]),
          title: 'a',
        },
      ],
    ],
    [
      'oras push, of a file, whose type says that it is an archive',
      [text('x', 'application/vnd.oci.image.layer.v1.tar', 'a/b.yaml')],
    ],
    ['a layer of YAML, compressed', [{ mediaType: 'application/yaml', data: gzipSync('x'), title: 'a/b.yaml' }]],
    [
      'a layer beside signatures and descriptors',
      [
        text('{}', 'application/vnd.dev.cosign.simplesigning.v1+json'),
        text('meta: {}', 'application/vnd.ocm.software.component-descriptor.v2+yaml+tar'),
        text('x', 'text/yaml', 'a/b.yaml'),
      ],
    ],
  ])('has the files that %s wrote', async ([, layers]) => {
    expect(await fetched(layers)).toEqual({ 'a/b.yaml': 'x' })
  })

  it('may have one file a layer, with or without a name', async () => {
    const unnamed = text(manifest('b'), 'application/x-yaml')
    const files = await fetched([text(manifest('a'), 'application/x-yaml', 'a.yaml'), unnamed])
    expect(files).toEqual({
      'a.yaml': manifest('a'),
      [`${archiveDigest(unnamed.data).slice(7, 19)}.yaml`]: manifest('b'),
    })
  })

  it('may be one layer of it alone, by digest: text or an archive', async () => {
    const registry = await startRegistryDouble()
    const [raw, tar] = [
      text(manifest('a'), 'application/octet-stream'),
      { mediaType: 'application/x-tar', data: packed([{ name: 'm.yaml', text: 'x' }]) },
    ]
    registry.push('team/app', 'v1', [raw, tar])
    for (const [layer, content] of [
      [raw, manifest('a')],
      [tar, 'x'],
    ] as const) {
      const { files } = await fetchArtifact({ ...source(registry, ''), layer: archiveDigest(layer.data) }, services())
      expect([...files.values()].map((data) => new TextDecoder().decode(data))).toEqual([content])
    }
    expect(registry.asked.every(({ path: asked }) => asked.includes('/blobs/'))).toBe(true)
  })

  it.for<readonly [string, readonly ArtifactLayer[]]>([
    ['a path that leads out', [flux([{ name: '../a.yaml', text: 'x' }])]],
    ['a symbolic link', [flux([{ name: 'a', type: '2', link: '/etc' }])]],
    ['a name of a layer that leads out', [text('x', 'text/yaml', '../../a.yaml')]],
    ['a bomb', [flux([{ name: 'a', text: '\0'.repeat(30_000_000) }])]],
    ['the same file in two layers', [flux([{ name: 'a.yaml', text: '1' }]), text('2', 'text/yaml', 'a.yaml')]],
    ['too many layers', Array.from({ length: 51 }, (_, at) => text(`${at}`, 'text/yaml', `${at}.yaml`))],
    [
      'an archive of another kind',
      [{ mediaType: 'application/vnd.oci.image.layer.v1.tar+zstd', data: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) }],
    ],
    ['no files', [flux([])]],
  ])('is refused whole if it has %s', async ([, layers]) => {
    await expect(fetched(layers)).rejects.toEqual(error(renderErrors.InvalidArchive))
  })

  it('is refused if a layer is not what its digest says, and not found without content', async () => {
    const registry = await startRegistryDouble()
    registry.push('team/app', 'v1', [text('x', 'text/yaml')])
    registry.push('team/app', 'none', [text('x', 'application/vnd.cncf.helm.chart.provenance.v1.prov')])
    await expect(fetchArtifact(source(registry, ':none'), services())).rejects.toEqual(
      error(renderErrors.SourceNotFound),
    )
    registry.instead = (request, response) => {
      if (!request.url?.includes('/blobs/')) return false
      response.end('y')
      return true
    }
    await expect(fetchArtifact(source(registry), services())).rejects.toEqual(error(renderErrors.DigestMismatch))
  })

  it('waits as a 429 says', async () => {
    const registry = await startRegistryDouble()
    registry.push('team/app', 'v1', [text('x', 'text/yaml')])
    let refusals = 0
    registry.instead = (_, response) => {
      if (refusals++ > 0) return false
      response.writeHead(429, { 'retry-after': '7' }).end()
      return true
    }
    const clock = testClock()
    await fetchArtifact(source(registry), services({ clock }))
    expect(clock.waits).toEqual([7000])
  })
})

describe('a kept artifact', () => {
  const down: RegistryDouble['instead'] = (_, response) => {
    response.socket?.destroy()
    return true
  }

  it('is used without a network, with a warning, and only as a whole', async () => {
    const [registry, cache] = [await startRegistryDouble(), await emptyFolder()]
    registry.push('team/app', 'v1', [text('x', 'text/yaml', 'a.yaml'), text('y', 'text/yaml', 'b.yaml')])
    const warnings: string[] = []
    const options = services({ cache, warn: (message) => void warnings.push(message) })
    const before = await fetchArtifact(source(registry), options)
    registry.instead = down
    expect(await fetchArtifact(source(registry), options)).toEqual(before)
    expect(before.tag).toBe('v1')
    expect(warnings).toEqual([expect.stringContaining('cannot be reached')])
    const [lost = ''] = readdirSync(path.join(cache, 'sha256'))
    rmSync(path.join(cache, 'sha256', lost))
    await expect(fetchArtifact(source(registry), options)).rejects.toEqual(error(renderErrors.SourceUnavailable))
  })

  it('that is named by a digest is not asked for again, and is given to its account alone', async () => {
    const me = { username: 'me', password: 'word' }
    const [registry, cache] = [await startRegistryDouble(me), await emptyFolder()]
    const layer = text('x', 'text/yaml', 'a.yaml')
    const digest = registry.push('team/app', 'v1', [layer])
    for (const one of [source(registry, `@${digest}`), { ...source(registry, ''), layer: archiveDigest(layer.data) }]) {
      await fetchArtifact(one, services({ cache, credentials: me }))
      const { length } = registry.asked
      await fetchArtifact(one, services({ cache, credentials: me }))
      expect(registry.asked).toHaveLength(length)
      await expect(fetchArtifact(one, services({ cache }))).rejects.toEqual(error(renderErrors.SourceRefused))
    }
  })
})

describe('a version that may move', () => {
  it('is resolved to what it means now, by a tag or a range', async () => {
    const registry = await startRegistryDouble()
    const one = registry.push('team/app', '1.0.0', [text('1', 'text/yaml')])
    const url = source(registry, '')
    expect(await resolveVersion({ ...url, version: '1.x' }, services())).toEqual({ version: '1.0.0', digest: one })
    const two = registry.push('team/app', '1.1.0', [text('2', 'text/yaml')])
    registry.push('team/app', 'latest', [text('2', 'text/yaml')])
    expect(await resolveVersion({ ...url, version: '1.x' }, services())).toEqual({ version: '1.1.0', digest: two })
    expect(await resolveVersion({ ...url, version: 'latest' }, services())).toEqual({ version: 'latest', digest: two })
    expect(registry.asked.some(({ path: asked }) => asked.includes('/blobs/'))).toBe(false)
  })

  it('is asked for once: the wait that a registry wants is left to the caller', async () => {
    const registry = await startRegistryDouble()
    registry.instead = (_, response) => {
      response.writeHead(429, { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }).end()
      return true
    }
    const clock = testClock()
    await expect(resolveVersion(source(registry), services({ clock }))).rejects.toMatchObject({ retryAfterMs: 60_000 })
    expect([registry.asked.length, clock.waits]).toEqual([1, []])
  })
})
