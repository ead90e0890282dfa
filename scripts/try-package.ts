/**
 * The packed package, tried as a user would: installed in an empty folder, its command called, every entry imported, a project made
 * with it, and that project's tests run. Needs npm's registry for the packages that it depends on.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { run } from './real-binaries.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, string | { readonly default?: string }>>
}

const quietly = ['--no-audit', '--no-fund', '--loglevel=error']

/** Packs the checkout at `root` into `folder`; returns the archive. */
export async function packPackage(root: string, folder: string): Promise<string> {
  const shown = await run('npm', ['pack', '--json', '--pack-destination', folder, '--loglevel=error'], { cwd: root })
  // The build prints before npm does.
  const [packed] = JSON.parse(shown.slice(shown.indexOf('[\n'))) as [{ readonly filename: string }]
  return path.join(folder, packed.filename.replace('@', '').replace('/', '-'))
}

/** Fails with what went wrong. `say` gets a line for each step. */
export async function tryPackage(archive: string, folder: string, say: (line: string) => void): Promise<void> {
  const place = path.join(folder, 'try')
  mkdirSync(place)
  writeFileSync(path.join(place, 'package.json'), '{ "private": true, "type": "module" }\n')
  await run('npm', ['install', ...quietly, archive], { cwd: place })
  const own = path.join(place, 'node_modules', '@muster-dev', 'muster')
  const manifest = JSON.parse(readFileSync(path.join(own, 'package.json'), 'utf8')) as Manifest
  say(`installed ${manifest.name} ${manifest.version} in an empty folder`)

  const muster = path.join(place, 'node_modules', '.bin', 'muster')
  const said = await run(muster, ['version'], { cwd: place })
  if (!said.startsWith(`muster ${manifest.version} `)) throw new Error(`muster version says: ${said.trim()}`)
  await run(muster, ['help'], { cwd: place })

  const entries = entriesOf(manifest)
  const program = `for (const name of ${JSON.stringify(entries)}) await import(name)`
  await run(process.execPath, ['--input-type=module', '-e', program], { cwd: place })
  say(`imported ${entries.length} entries`)

  await run(muster, ['init', 'sample', '--muster', `file:${archive}`], { cwd: folder })
  const project = path.join(folder, 'sample')
  await run('npm', ['install', ...quietly], { cwd: project })
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  await run('npm', ['test'], { cwd: project, env })
  say('made a project whose tests pass')
}

/** What can be imported: entries of types alone and patterns cannot. */
function entriesOf({ name, exports }: Manifest): readonly string[] {
  return Object.entries(exports)
    .filter(([entry, target]) => typeof target !== 'string' && target.default !== undefined && !entry.includes('*'))
    .map(([entry]) => `${name}${entry.slice(1)}`)
}
