import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { deployFolder, imageFiles, ownInstallation } from '../../scripts/generate-deploy.ts'
import { installationFiles } from '../../src/deploy/files.ts'
import { metricsDoc, metricsDocUrl } from '../../scripts/generate-metrics-doc.ts'

it('deploy/ is what its source makes of it (node scripts/generate-deploy.ts)', () => {
  const made = installationFiles(ownInstallation())
  const found = globSync('**/{*.*,.*}', { cwd: deployFolder }).map((file) => file.split(path.sep).join('/'))
  expect(found.toSorted()).toEqual([...made.keys()].toSorted())
  const read = [...made.keys()].map((name) => [name, readFileSync(path.join(deployFolder, name), 'utf8')] as const)
  expect(new Map(read)).toEqual(made)
})

it('the Containerfile is what its source makes of it (node scripts/generate-deploy.ts)', () => {
  for (const [name, text] of imageFiles()) {
    expect(readFileSync(path.join(deployFolder, '..', name), 'utf8')).toBe(text)
  }
})

it('docs/metrics.md lists all metrics and alerts (node scripts/generate-metrics-doc.ts)', () => {
  const text = readFileSync(metricsDocUrl, 'utf8')
  // The formatter aligns tables.
  const words = (table: string): string => table.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')
  expect(words(text)).toBe(words(metricsDoc(text)))
})
