/** `muster init`: creates an operator project that passes its test and runs as it is. */
import { existsSync } from 'node:fs'
import { readdir, readFile, realpath, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '../../system/folder.ts'
import { builtinResources } from '../../kube/builtin.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { cliErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { checkDns1035Label, checkDnsSubdomain } from '../../kube/meta/name.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { kindFor, type MusterOrigin, projectFiles } from './project.ts'

const command: Command = defineCommand({
  usage: 'NAME',
  details: `Creates the folder NAME with an operator: a kind, a dependent, a test. Then: cd NAME, npm install, npm test, npm start.
The kind is named after NAME: web-shop or web-shop-operator has the kind WebShop. Nothing is overwritten.`,
  flags: {
    dir: { type: 'string', value: 'DIR', help: 'folder to create (default: NAME); an existing one must be empty' },
    group: { type: 'string', value: 'GROUP', help: 'API group of the kind (default: example.com)' },
    muster: {
      type: 'string',
      value: 'SPEC',
      help: 'npm specifier of muster in the project (default: this checkout, else this version)',
    },
  },
  async run({ flags, positionals, out }) {
    const [name] = positionals
    if (name === undefined || positionals.length > 1) {
      throw new MusterError(flagErrors.InvalidFlag, 'init takes one NAME, such as web-shop.')
    }
    const group = flags.group ?? 'example.com'
    const folder = flags.dir ?? name
    const kind = checkNames(name, group)
    await makeEmpty(folder)
    const { version, devDependencies } = await ownManifest()
    const files = projectFiles({
      name,
      group,
      kind,
      muster: await originOf(flags.muster, version, folder),
      versions: { typescript: devDependencies['typescript'] ?? '', nodeTypes: devDependencies['@types/node'] ?? '' },
    })
    for (const [file, text] of files) {
      const place = path.join(folder, file)
      makeFolder(path.dirname(place))
      await writeFile(place, text, { flag: 'wx' })
      out(place)
    }
    out(`\nNow: cd ${folder} && npm install && npm test && npm start`)
    return 0
  },
})

/** The kind that derives from the names. @throws InvalidFlag for an invalid name */
function checkNames(name: string, group: string): string {
  const [problem] = checkDns1035Label(name)
  if (problem !== undefined) throw new MusterError(flagErrors.InvalidFlag, `NAME "${name}": it ${problem}.`)
  const [groupProblem] = checkDnsSubdomain(group)
  if (groupProblem !== undefined)
    throw new MusterError(flagErrors.InvalidFlag, `--group "${group}": it ${groupProblem}.`)
  if (!group.includes('.')) {
    throw new MusterError(
      flagErrors.InvalidFlag,
      `--group "${group}": a group of your own has a dot, such as example.com.`,
    )
  }
  const kind = kindFor(name)
  if (taken.has(kind) || builtinResources().some((resource) => resource.kind === kind)) {
    throw new MusterError(flagErrors.InvalidFlag, `NAME "${name}": its kind would be ${kind}, which is there already.`)
  }
  return kind
}

/** Names that the project's files import beside built-in kinds. */
const taken: ReadonlySet<string> = new Set(['ObjectOf'])

async function makeEmpty(folder: string): Promise<void> {
  try {
    makeFolder(folder)
    if ((await readdir(folder)).length === 0) return
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' && code !== 'ENOTDIR') {
      throw new MusterError(flagErrors.InvalidFlag, `${folder} cannot be made: ${code}.`, { cause: error })
    }
  }
  throw new MusterError(cliErrors.AlreadyThere, `${folder} exists and is not an empty folder.`)
}

const root = fileURLToPath(new URL('../../../', import.meta.url))

async function ownManifest(): Promise<{
  readonly version: string
  readonly devDependencies: Readonly<Record<string, string>>
}> {
  return JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as Awaited<ReturnType<typeof ownManifest>>
}

/** In a checkout, the project uses the checkout; in a package, the version of the package. */
async function originOf(given: string | undefined, version: string, folder: string): Promise<MusterOrigin> {
  const isCheckout = given === undefined && existsSync(path.join(root, 'scripts', 'setup.cjs'))
  // Relative, as npm writes it, so that both can be moved together.
  const link = async (): Promise<string> => `file:${path.relative(await realpath(folder), await realpath(root))}`
  return { isCheckout, spec: given ?? (isCheckout ? await link() : version) }
}

export default command
