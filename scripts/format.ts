/** `npm run format`: formats every file as `npm test` requires. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const oxfmt = fileURLToPath(new URL('../node_modules/.bin/oxfmt', import.meta.url))
process.exitCode =
  spawnSync(oxfmt, ['.'], { cwd: fileURLToPath(new URL('..', import.meta.url)), stdio: 'inherit' }).status ?? 1
