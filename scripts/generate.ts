/** `npm run generate`: every generated file of the repository, formatted as `npm test` requires. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const scripts = [
  'generate-errors-doc.ts',
  'generate-metrics-doc.ts',
  'generate-cli-doc.ts',
  'generate-configuration-doc.ts',
  'generate-api-doc.ts',
  'generate-deploy.ts',
  'generate-kube.ts',
  'format.ts',
]
for (const script of scripts) {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
