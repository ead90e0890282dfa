import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMusterError } from '../../kube/muster-error.ts'
import type { Secret } from '../../kube/types/core/v1.ts'
import { platformErrors } from '../errors.ts'
import type { HelmRelease } from './helm-release.ts'
import { decodeReleaseSecret, encodeReleaseSecret, isReleaseSecret } from './release-secret.ts'

const release: HelmRelease = {
  name: 'web',
  namespace: 'shop',
  revision: 3,
  status: 'deployed',
  chart: { name: 'web', version: '1.2.3' },
  values: { password: 'hunter2', replicas: 2 },
  manifest: '---\n# Source: web/templates/a.yaml\nkind: ConfigMap\n',
  hooks: [
    {
      name: 'migrate',
      kind: 'Job',
      path: 'web/templates/migrate.yaml',
      manifest: 'kind: Job\n',
      events: ['pre-upgrade'],
      weight: -1,
      deletePolicies: ['hook-succeeded'],
    },
  ],
  document: {},
}

function secretWith(text: string | Uint8Array, more: Partial<Secret> = {}): Secret {
  return {
    ...encodeReleaseSecret(release),
    data: { release: Buffer.from(Buffer.from(text).toString('base64')).toString('base64') },
    ...more,
  }
}

function failureOf(call: () => unknown): unknown {
  try {
    call()
    return undefined
  } catch (error) {
    return error
  }
}

const withoutDocument = ({ document: _document, ...rest }: HelmRelease): Omit<HelmRelease, 'document'> => rest

describe("Helm's release Secret", () => {
  it('decodes to what was encoded', () => {
    expect(withoutDocument(decodeReleaseSecret(encodeReleaseSecret(release)))).toEqual(withoutDocument(release))
  })

  it('keeps what this program does not read', () => {
    const document = {
      info: { first_deployed: '2026-01-01T00:00:00Z', notes: 'hi', status: 'failed' },
      chart: { templates: [{ name: 'templates/a.yaml', data: 'YQ==' }], metadata: { name: 'web' } },
      hooks: [{ name: 'migrate', path: 'web/templates/migrate.yaml', last_run: { phase: 'Succeeded' } }],
      apply_method: 'ssa',
    }
    const back = decodeReleaseSecret(encodeReleaseSecret({ ...release, document })).document
    expect(back).toMatchObject({
      info: { first_deployed: '2026-01-01T00:00:00Z', notes: 'hi', status: 'deployed' },
      chart: { templates: document.chart.templates, metadata: release.chart },
      hooks: [{ last_run: { phase: 'Succeeded' }, weight: -1 }],
      apply_method: 'ssa',
    })
  })

  it('has the labels by which Helm finds it', () => {
    const { metadata, type } = encodeReleaseSecret(release, { createdAt: 1_700_000_000.5 })
    expect(type).toBe('helm.sh/release.v1')
    expect(metadata).toEqual({
      name: 'sh.helm.release.v1.web.v3',
      namespace: 'shop',
      labels: { name: 'web', owner: 'helm', status: 'deployed', version: '3', createdAt: '1700000000' },
    })
  })

  it('may be uncompressed, as Helm once wrote it', () => {
    const text = JSON.stringify({ name: 'web', version: 3, info: { status: 'deployed' }, namespace: 'shop' })
    expect(decodeReleaseSecret(secretWith(text))).toMatchObject({ name: 'web', revision: 3, values: {}, hooks: [] })
  })

  it.each<[string, Secret, RegExp]>([
    ['another type', { ...encodeReleaseSecret(release), type: 'Opaque' }, /type is Opaque/],
    ['another name', { ...encodeReleaseSecret(release), metadata: { name: 'web.v3' } }, /name is not/],
    ['no key', secretWith('', { data: {} }), /no key "release"/],
    ['no base64', secretWith('', { data: { release: '%' } }), /not base64/],
    ['no JSON', secretWith('{"password": hunter2'), /not JSON/],
    ['no object', secretWith('[]'), /not a JSON object/],
    ['damaged gzip', secretWith(gzipSync('{}').subarray(0, 12)), /damaged/],
    ['another release', secretWith('{"name":"api","version":3}'), /another name or revision/],
    [
      'a wrong type inside',
      secretWith('{"name":"web","version":3,"config":"hunter2"}'),
      /config of the release is not/,
    ],
    [
      'hooks of a wrong type',
      secretWith('{"name":"web","version":3,"hooks":[{"events":[1]}]}'),
      /events of the release/,
    ],
  ])('is refused: %s', (_, secret, expected) => {
    expect(() => decodeReleaseSecret(secret)).toThrow(expected)
    // Nothing of the content reaches the error.
    expect(() => decodeReleaseSecret(secret)).not.toThrow(/hunter2/)
  })

  it('is refused when it unpacks to too much', () => {
    const bomb = secretWith(gzipSync(Buffer.alloc(4 * 2 ** 20, ' '), { level: 9 }))
    expect(() => decodeReleaseSecret(bomb, { unpacked: 2 ** 20 })).toThrow(/more than 1048576 bytes/)
  })

  it('is recognised by type and name', () => {
    const { metadata } = encodeReleaseSecret(release)
    expect(isReleaseSecret(encodeReleaseSecret(release))).toBe(true)
    expect(isReleaseSecret({ type: 'helm.sh/release.v1', metadata: { name: 'sh.helm.release.v1.web.vx' } })).toBe(false)
    expect(isReleaseSecret({ type: 'helm.sh/release.v1', metadata: { name: 'sh.helm.release.v1..v1' } })).toBe(false)
    expect(isReleaseSecret({ type: 'Opaque', metadata })).toBe(false)
  })

  it('never fails with another error, whatever it contains', () => {
    const record = fc.record(
      {
        name: fc.constant('web'),
        version: fc.constant(3),
        info: fc.jsonValue(),
        chart: fc.jsonValue(),
        hooks: fc.jsonValue(),
        config: fc.jsonValue(),
      },
      { requiredKeys: ['name', 'version'] },
    )
    fc.assert(
      fc.property(
        fc.oneof(
          record.map((value) => JSON.stringify(value)),
          fc.string(),
        ),
        (text) => {
          const failure = failureOf(() => decodeReleaseSecret(secretWith(gzipSync(text))))
          expect(failure === undefined || isMusterError(failure, platformErrors.InvalidHelmRelease)).toBe(true)
        },
      ),
    )
  })
})

describe('a Secret that Helm wrote', () => {
  const golden = JSON.parse(
    readFileSync(new URL('../../../test/vectors/helm-release.json', import.meta.url), 'utf8'),
  ) as Secret

  it('is read', () => {
    const { name, namespace, revision, status, chart, values, manifest, hooks } = decodeReleaseSecret(golden)
    expect({ name, namespace, revision, status, chart: chart['name'], values }).toEqual({
      name: 'shop',
      namespace: 'default',
      revision: 2,
      status: 'deployed',
      chart: 'web',
      values: { colour: 'blue', size: 1_000_000 },
    })
    expect(manifest).toContain('kind: ConfigMap')
    expect(hooks).toMatchObject([
      { name: 'before', events: ['pre-upgrade'], weight: -5, deletePolicies: ['hook-succeeded'] },
    ])
  })

  it('is written as Helm wrote it', () => {
    const decoded = decodeReleaseSecret(golden)
    const again = encodeReleaseSecret(decoded)
    expect(decodeReleaseSecret(again).document).toEqual(decoded.document)
    expect(golden.metadata.labels).toMatchObject(again.metadata.labels!)
    expect([again.metadata.name, again.type]).toEqual([golden.metadata.name, golden.type])
  })
})
