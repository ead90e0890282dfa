/**
 * `npm run build`: what is published, in `dist/`: declarations file by file, the JavaScript bundled into a few files,
 * and the data files that the sources load.
 *
 * Bundled, because a process that has to find, read and link a hundred small modules before its first request starts a
 * third later. Each entry of package.json keeps its path; what several share, or load lazily, lies in `dist/chunks/`.
 *
 * The command line is bundled apart, in `dist/cli/`, and as CommonJS: who imports nothing spares Node the loader of ES
 * modules, which is a few megabytes of every process.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { pageFiles, pageText } from '../src/console/page.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = path.join(root, 'src')
const dist = path.join(root, 'dist')

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default?: string }>>
  readonly dependencies: Readonly<Record<string, string>>
}
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Manifest

/** `client/index` and its like: what package.json lets users import, and what the command line starts. */
const entries = Object.values(manifest.exports)
  .map((target) => (typeof target === 'string' ? undefined : target.default))
  .filter((file) => file !== undefined)
  .map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1'))
  // Where a thread or a process of its own begins.
  .concat('sidecar/process-shim', 'manager/isolation/guest-main', 'manager/watchdog/alarm')

/**
 * A module that looks for files beside itself finds them where it would be were it not bundled. `folder` is where in
 * `dist/` its bundle is written.
 */
function inPlace(here: string, folder = '.'): Plugin {
  /** Stands for the way from a bundle to `dist/`, which is known when it is written. */
  const up = 'UP_TO_DIST/'
  return {
    name: 'in-place',
    transform: {
      filter: { id: /\.ts$/, code: 'import.meta.url' },
      handler(code, id) {
        const place = `${up}${path.relative(source, id).replace(/\.ts$/, '.js')}`
        return { code: code.replaceAll('import.meta.url', `new URL(${JSON.stringify(place)}, ${here}).href`) }
      },
    },
    renderChunk: (code, { fileName }) =>
      code.replaceAll(up, `${path.posix.relative(path.posix.dirname(path.posix.join(folder, fileName)), '.')}/`),
  }
}

/** What comes with Node is had without its loader of ES modules. */
const builtinsAtHand: Plugin = {
  name: 'builtins-at-hand',
  renderChunk: (code) =>
    code.replaceAll(/\bimport\(("node:[^"]+")\)/g, 'Promise.resolve(process.getBuiltinModule($1))'),
}

rmSync(dist, { recursive: true, force: true })

const tsc = path.join(root, 'node_modules', '.bin', 'tsc')
const { status } = spawnSync(tsc, ['-p', 'tsconfig.build.json', '--emitDeclarationOnly'], {
  cwd: root,
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)

const common = {
  cwd: root,
  external: [/^node:/, ...Object.keys(manifest.dependencies)],
  // A lazy import of what an entry needs anyway is no mistake: other entries are spared it.
  checks: { ineffectiveDynamicImport: false },
}

const library = await rolldown({
  ...common,
  input: Object.fromEntries(entries.map((entry) => [entry, path.join(source, `${entry}.ts`)])),
  // Not `node`: that would have every bundle import node:module, whether it needs it or not.
  platform: 'neutral',
  plugins: [inPlace('import.meta.url')],
})
await library.write({
  dir: dist,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
  // Declarations say what comments have to say to users.
  comments: false,
  // Whoever reaches a cluster needs most of the client: one file, not twenty.
  codeSplitting: { groups: [{ name: 'client', test: /[\\/]src[\\/](?:clock|client)[\\/]/ }] },
})

const commandLine = await rolldown({
  ...common,
  input: { main: path.join(source, 'cli', 'main.ts') },
  platform: 'node',
  plugins: [inPlace("require('node:url').pathToFileURL(__filename)", 'cli'), builtinsAtHand],
})
await commandLine.write({
  dir: path.join(dist, 'cli'),
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  comments: false,
})

// What `muster up` shows. Node loads no TypeScript from a package; what they import is the package itself.
const examples = await rolldown({
  cwd: root,
  input: Object.fromEntries(
    ['memcached', 'database'].map((name) => [name, path.join(root, 'examples', name, 'operator.ts')]),
  ),
  external: /^muster\//,
  platform: 'neutral',
})
await examples.write({ dir: path.join(dist, 'examples'), format: 'esm', entryFileNames: '[name].js' })

// The console's page, as a checkout serves it.
mkdirSync(path.join(dist, 'web'))
for (const name of pageFiles) writeFileSync(path.join(dist, 'web', name), pageText(name))

for (const file of globSync('**/*.{json,br}', { cwd: source })) cpSync(path.join(source, file), path.join(dist, file))
