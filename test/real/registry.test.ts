/** Charts from the real registry of the field (distribution): pushed by the real Helm, fetched by Muster. */
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/clock/random.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { isMusterError } from '../../src/kube/muster-error.ts'
import { renderErrors } from '../../src/render/errors.ts'
import { fetchChart, type ChartSourceOptions } from '../../src/render/source/chart-source.ts'
import { registryCredentials as credentials, type RunningRegistry, startRegistry } from './registry.ts'

let registry: RunningRegistry

beforeAll(async () => {
  registry = await startRegistry()
  const template = { 'a.yaml': `kind: Web\nmetadata:\n  name: web-{{ .Chart.Version }}\n` }
  for (const version of ['1.0.0', '1.1.0', '1.2.0+build.7', '2.0.0-rc.1']) await registry.push('web', version, template)
}, 120_000)
afterAll(() => registry.remove())

async function fetched(reference: string, version?: string, more: Partial<ChartSourceOptions> = {}): Promise<string> {
  const options = { clock: systemClock, random: systemRandom, warn: () => undefined, env: {}, ca: registry.ca }
  const files = await fetchChart(
    { source: `oci://${registry.host}/charts/web${reference}`, version },
    { ...options, credentials, ...more },
  )
  return /version: (.*)/.exec(new TextDecoder().decode(files.get('Chart.yaml')))?.[1] ?? ''
}

describe('the real registry', () => {
  it('serves charts by tag, and by the newest version of a range', async () => {
    expect(await fetched(':1.0.0')).toBe('1.0.0')
    expect(await fetched('')).toBe('1.2.0+build.7')
    expect(await fetched('', '~1.1')).toBe('1.1.0')
    expect(await fetched('', '>=2.0.0-0')).toBe('2.0.0-rc.1')
    await expect(fetched(':9.9.9')).rejects.toSatisfy((error) => isMusterError(error, renderErrors.SourceNotFound))
  })

  it('refuses wrong passwords, and is refused without its CA', async () => {
    const wrong = { credentials: { username: 'team', password: 'guess' } }
    await expect(fetched(':1.0.0', undefined, wrong)).rejects.toSatisfy((error) =>
      isMusterError(error, renderErrors.SourceRefused),
    )
    await expect(fetched(':1.0.0', undefined, { ca: undefined })).rejects.toThrow(/certificate/)
  })

  it('may be gone once a chart was fetched', async () => {
    const cache = path.join(registry.folder, 'cache')
    expect(await fetched(':1.1.0', undefined, { cache })).toBe('1.1.0')
    registry.stop()
    const warnings: string[] = []
    const warn = (message: string): void => void warnings.push(message)
    expect(await fetched(':1.1.0', undefined, { cache, warn })).toBe('1.1.0')
    expect(warnings).toHaveLength(1)
  })
})
