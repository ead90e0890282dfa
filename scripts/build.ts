/** `npm run build`: plain JavaScript and declarations in `dist/`, with the data files that the sources load. */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(path.join(root, 'dist'), { recursive: true, force: true })
const tsc = path.join(root, 'node_modules', '.bin', 'tsc')
const { status } = spawnSync(tsc, ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
for (const file of globSync('src/**/*.json', { cwd: root })) {
  cpSync(path.join(root, file), path.join(root, 'dist', path.relative('src', file)))
}
