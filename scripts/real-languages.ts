/**
 * The test projects of docs/envtest.md in Python, Java and Rust, ready to run: `test/real/envtest.test.ts` runs them on
 * Muster. Their packages come from the registries of the languages, once. A language whose tools are not on this machine has none.
 */
import { createHash } from 'node:crypto'
import { access, copyFile, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cliErrors } from '../src/cli/errors.ts'
import { MusterError } from '../src/kube/muster-error.ts'
import { cacheFolder, type Environment, findProgram, refuseInTests, run, whileHolding } from './real-binaries.ts'

export interface LanguageProject {
  /** The command that runs its tests. */
  readonly command: readonly [program: string, ...words: string[]]
  readonly folder: string
  /** What it needs in its environment. */
  readonly environment: Readonly<Record<string, string>>
}

export type LanguageProjects = Readonly<Record<'python' | 'java' | 'rust', LanguageProject | undefined>>

const sources = fileURLToPath(new URL('../test/real/envtest', import.meta.url))

export async function languageProjects(env: Environment = process.env): Promise<LanguageProjects> {
  return { python: await pythonProject(env), java: await javaProject(env), rust: await rustProject(env) }
}

async function pythonProject(env: Environment): Promise<LanguageProject | undefined> {
  const python = await findProgram('python3', env)
  if (!python) return undefined
  const files = ['requirements.txt', 'test_controlplane.py']
  const place = await prepared('python', files, env, async (draft) => {
    const quietly = ['--quiet', '--disable-pip-version-check', '--no-input']
    const requirements = join(sources, 'python', 'requirements.txt')
    await run(python, ['-m', 'pip', 'install', ...quietly, '--target', join(draft, 'packages'), '-r', requirements], {
      env,
    })
  })
  return {
    command: [python, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_controlplane.py'],
    folder: join(sources, 'python'),
    environment: { PYTHONPATH: join(place, 'packages'), PYTHONDONTWRITEBYTECODE: '1' },
  }
}

async function javaProject(env: Environment): Promise<LanguageProject | undefined> {
  const [maven, java] = [await findProgram('mvn', env), await findProgram('javac', env)]
  if (!maven || !java) return undefined
  const repository = (place: string): string => `-Dmaven.repo.local=${join(place, 'repository')}`
  const files = ['pom.xml', join('src', 'test', 'java', 'ControlPlaneTest.java')]
  const place = await prepared('java', files, env, async (draft) => {
    await cp(join(sources, 'java'), join(draft, 'project'), { recursive: true })
    // Compiles the tests and fetches what runs them, and runs none.
    const none = ['-Dtest=None', '-Dsurefire.failIfNoSpecifiedTests=false']
    await run(maven, ['-q', '-B', repository(draft), ...none, 'test'], { cwd: join(draft, 'project'), env })
  })
  return {
    command: [maven, '-q', '-B', '--offline', repository(place), 'test'],
    folder: join(place, 'project'),
    environment: {},
  }
}

async function rustProject(env: Environment): Promise<LanguageProject | undefined> {
  const cargo = await findProgram('cargo', env)
  if (!cargo) return undefined
  const files = ['Cargo.toml', 'Cargo.lock', 'lib.rs', join('tests', 'controlplane.rs')]
  const place = await prepared('rust', files, env, async (draft) => {
    const target = join(draft, 'target')
    const words = ['test', '--no-run', '--locked', '--quiet', '--message-format=json', '--target-dir', target]
    const lines = (await run(cargo, words, { cwd: join(sources, 'rust'), env })).split('\n').filter(Boolean)
    const built = lines.map((line) => JSON.parse(line) as CargoMessage)
    const program = built.find((message) => message.executable && message.target?.name === 'controlplane')?.executable
    if (!program) throw new MusterError(cliErrors.BinaryMissing, 'cargo built no test program.')
    await copyFile(program, join(draft, 'controlplane'))
    await rm(target, { recursive: true, force: true })
  })
  return { command: [join(place, 'controlplane')], folder: place, environment: {} }
}

interface CargoMessage {
  readonly executable?: string | null
  readonly target?: { readonly name: string }
}

/** The folder that `make` has filled, once for the contents of these files. */
async function prepared(
  language: string,
  files: readonly string[],
  env: Environment,
  make: (draft: string) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(join(sources, language, file)))
  const folder = join(cacheFolder(env), `${language}-${hash.digest('hex').slice(0, 12)}`)
  const isReady = async (): Promise<boolean> =>
    await access(join(folder, 'complete')).then(
      () => true,
      () => false,
    )
  if (await isReady()) return folder
  refuseInTests(`the test project in ${language}`, env)
  await mkdir(join(folder, '..'), { recursive: true })
  await whileHolding(`${folder}.lock.db`, async () => {
    if (await isReady()) return
    const draft = `${folder}.${process.pid}`
    try {
      await rm(folder, { recursive: true, force: true })
      await mkdir(draft, { recursive: true })
      await make(draft)
      await writeFile(join(draft, 'complete'), '')
      await rename(draft, folder)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  })
  return folder
}
