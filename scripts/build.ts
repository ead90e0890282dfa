/**
 * `npm run build`: the published package in `dist/`: declarations file by file, the JavaScript bundled into a few
 * files, and the data files that the sources load.
 *
 * Bundled, because a process that has to find, read and link a hundred small modules before its first request starts a
 * third later. Each entry of package.json keeps its path; shared and lazily loaded code is in `dist/chunks/`.
 *
 * The command line is bundled separately, in `dist/cli/`, and as CommonJS: a process without imports does not load
 * Node's ES module loader, which saves a few megabytes.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { pageFiles, pageText } from '../src/console/page.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = path.join(root, 'src')

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default?: string }>>
  readonly dependencies: Readonly<Record<string, string>>
}
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Manifest

/** `client/index` and so on: the entry points of package.json, and those that the command line starts. */
const entries = Object.values(manifest.exports)
  .map((target) => (typeof target === 'string' ? undefined : target.default))
  .filter((file) => file !== undefined)
  .map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1'))
  // Entry points of threads and processes.
  .concat('sidecar/process-shim', 'manager/isolation/guest/guest-main', 'manager/watchdog/alarm')

/**
 * A module that looks for files beside itself finds them at the path that it has in the sources. `folder` is where in
 * `dist/` its bundle is written.
 */
function inPlace(here: string, folder = '.'): Plugin {
  /** A placeholder for the path from a bundle to `dist/`, which is known when it is written. */
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

/** Node's own modules are loaded without the ES module loader. */
const builtinsAtHand: Plugin = {
  name: 'builtins-at-hand',
  renderChunk: (code) =>
    code.replaceAll(/\bimport\(("node:[^"]+")\)/g, 'Promise.resolve(process.getBuiltinModule($1))'),
}

/** Node's own modules and packages are loaded with their first use: many take longer than the rest of a command. */
const loadedOnUse: Plugin = {
  name: 'loaded-on-use',
  renderChunk(code) {
    let result = code
    for (const [line, name, module] of code.matchAll(/^let (\w+) = (require\("(?!\.)[^"]+"\));$/gm)) {
      const uses = new RegExp(String.raw`(?<![\w$"]|[^.]\.)${name}\b(?! = )`, 'g')
      // A module that is used as a whole stays as it is.
      if (Array.from(code.matchAll(uses)).some(({ index }) => code[index + name!.length] !== '.')) continue
      result = result
        .replaceAll(uses, `${name}$lazy.module`)
        .replace(line, `const ${name}$lazy = { get module() { return this.loaded ??= ${module}; } };`)
    }
    return result
  },
}

const common = {
  cwd: root,
  external: [/^node:/, ...Object.keys(manifest.dependencies)],
  // A lazy import of a module that an entry loads anyway is intended: other entries do not load it.
  checks: { ineffectiveDynamicImport: false },
}

/** Everything that runs, and what it reads; without declarations. */
export async function bundlePackage(dist: string): Promise<void> {
  const library = await rolldown({
    ...common,
    input: Object.fromEntries(entries.map((entry) => [entry, path.join(source, `${entry}.ts`)])),
    // Not `node`: every bundle would import node:module, needed or not.
    platform: 'neutral',
    plugins: [inPlace('import.meta.url')],
  })
  await library.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    // Declarations contain the comments for users.
    comments: false,
    // A client of a cluster needs most of the client layer: one file, not twenty.
    codeSplitting: { groups: [{ name: 'client', test: /[\\/]src[\\/](?:clock|client)[\\/]/ }] },
  })

  const commandLine = await rolldown({
    ...common,
    input: {
      main: path.join(source, 'cli', 'main.ts'),
      // The programs that the scripts of muster envtest start.
      'envtest/kube-apiserver': path.join(source, 'cli', 'envtest', 'kube-apiserver.ts'),
      'envtest/etcd': path.join(source, 'cli', 'envtest', 'etcd.ts'),
    },
    platform: 'node',
    plugins: [inPlace("require('node:url').pathToFileURL(__filename)", 'cli'), builtinsAtHand, loadedOnUse],
  })
  await commandLine.write({
    dir: path.join(dist, 'cli'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    comments: false,
  })

  // The thread that renders charts, in two files and for the same reasons.
  const renderWorker = await rolldown({
    ...common,
    input: { 'render-worker': path.join(source, 'render', 'worker', 'render-worker.ts') },
    platform: 'node',
    plugins: [inPlace("require('node:url').pathToFileURL(__filename)", 'render/worker'), builtinsAtHand, loadedOnUse],
  })
  await renderWorker.write({
    dir: path.join(dist, 'render', 'worker'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    comments: false,
  })

  // The examples of `muster up`. Node loads no TypeScript from a package; their imports are the package itself.
  const examples = await rolldown({
    cwd: root,
    input: Object.fromEntries(
      ['memcached', 'database'].map((name) => [name, path.join(root, 'examples', name, 'operator.ts')]),
    ),
    external: /^@muster-dev\/muster\//,
    platform: 'neutral',
  })
  await examples.write({ dir: path.join(dist, 'examples'), format: 'esm', entryFileNames: '[name].js' })

  // The console's page, as a checkout serves it.
  mkdirSync(path.join(dist, 'web'))
  for (const name of pageFiles) writeFileSync(path.join(dist, 'web', name), pageText(name))

  for (const file of globSync('**/*.{json,br}', { cwd: source })) cpSync(path.join(source, file), path.join(dist, file))
}

if (import.meta.main) {
  const dist = path.join(root, 'dist')
  rmSync(dist, { recursive: true, force: true })
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc')
  const { status } = spawnSync(tsc, ['-p', 'tsconfig.build.json', '--emitDeclarationOnly'], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
  await bundlePackage(dist)
}
