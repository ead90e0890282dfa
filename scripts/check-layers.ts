/**
 * The import rule: a folder of `src/` may import only from itself and from those above it (see the list).
 * Prints each offence with its line and fails.
 */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** From the ground up. `platform` and `workloads` are neighbours: neither knows the other. */
const layers: readonly (readonly string[])[] = [
  ['clock'],
  ['kube'],
  ['client'],
  ['cache'],
  ['apiserver'],
  ['sidecar'],
  ['operator'],
  ['manager'],
  ['contract'],
  ['simulate'],
  ['render'],
  ['platform', 'workloads'],
  ['console'],
  ['cli'],
]

const root = fileURLToPath(new URL('..', import.meta.url))
const level = new Map(layers.flatMap((folders, index) => folders.map((folder) => [folder, index] as const)))
const importPattern = /(?:from|import\(|import)\s*['"](\.{1,2}\/[^'"]+)['"]/g

const offences: string[] = []
for (const file of globSync('src/**/*.ts', { cwd: root })) {
  const folder = file.split(path.sep)[1] ?? ''
  const own = level.get(folder)
  if (own === undefined) {
    offences.push(`${file}: src/${folder} is not in the list of layers (scripts/check-layers.ts)`)
    continue
  }
  readFileSync(path.join(root, file), 'utf8')
    .split('\n')
    .forEach((line, index) => {
      for (const [, target = ''] of line.matchAll(importPattern)) {
        const [top, other = ''] = path.relative(root, path.resolve(root, path.dirname(file), target)).split(path.sep)
        const place = `${file}:${index + 1}`
        const isTest = file.endsWith('.test.ts')
        // Tests may lean on what crosses folders (certificates, vectors); the product may not.
        if (top !== 'src') {
          if (!isTest) offences.push(`${place}: imports ${target} from outside src/`)
        } else if (other !== folder) {
          const theirs = level.get(other)
          if (theirs === undefined || theirs >= own)
            offences.push(`${place}: src/${folder} may not import from src/${other}`)
        }
      }
    })
}

if (offences.length > 0) {
  console.error(offences.join('\n'))
  process.exitCode = 1
}
