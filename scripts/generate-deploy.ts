/**
 * Writes the Containerfile and `deploy/`, the installation of a manager without operators, from `src/deploy`: `node scripts/generate-deploy.ts`. A
 * test holds the folder to its source.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InstallationDescription } from '../src/deploy/description.ts'
import { installationFiles } from '../src/deploy/files.ts'
import { ignoredByImages, managerContainerfile } from '../src/deploy/image.ts'
import { readConfiguration } from '../src/manager/config/configuration.ts'
import { podLayer } from '../src/manager/config/pod-layer.ts'

export const deployFolder: string = fileURLToPath(new URL('../deploy', import.meta.url))

/** In the root of the repository, with the files that are no part of `deploy/`. */
export function imageFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['Containerfile', managerContainerfile()],
    ['.dockerignore', `${ignoredByImages.join('\n')}\n`],
  ])
}

/** The manager alone. */
export function ownInstallation(): InstallationDescription {
  const manifest = new URL('../package.json', import.meta.url)
  const { version, description } = JSON.parse(readFileSync(manifest, 'utf8')) as Record<
    'version' | 'description',
    string
  >
  const [name, namespace] = ['muster', 'muster-system']
  return {
    name,
    namespace,
    version,
    description,
    image: { repository: 'muster-dev/muster', tag: version },
    operators: [],
    config: { operators: {} },
    settings: readConfiguration([podLayer({ namespace, installation: name })]).settings,
  }
}

if (import.meta.main) {
  rmSync(deployFolder, { recursive: true, force: true })
  for (const [name, text] of installationFiles(ownInstallation())) {
    const file = path.join(deployFolder, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  for (const [name, text] of imageFiles()) writeFileSync(path.join(deployFolder, '..', name), text)
}
