/**
 * `muster generate deploy`: how a project is installed. The operators, their kinds and roles come from the configuration of the
 * manager (`muster.yaml`) and from modules; names, version and image from `package.json` and flags.
 */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { checkDnsLabel } from '../../kube/meta/name.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import type { InstallationDescription } from '../../deploy/description.ts'
import { composeConfiguration } from '../../manager/config/open-configuration.ts'
import { podLayer } from '../../manager/config/pod-layer.ts'
import type { GivenOperator } from '../../manager/loading/loader.ts'
import { fileOf } from '../../manager/loading/module.ts'
import type { Operator } from '../../operator/operator.ts'
import { readNamedFile } from '../command/named-file.ts'
import { loadOperator } from '../module/module.ts'
import { loadOwnMuster } from '../module/own-muster.ts'
import { builtInOperators, moduleReference, ownPackage } from '../module/package-module.ts'

interface DeployFlags {
  /** @default `muster.yaml`, if it exists */
  readonly file?: string | undefined
  /** @default the name in package.json, without its scope; else that of the folder */
  readonly name?: string | undefined
  /** @default `NAME-system` */
  readonly namespace?: string | undefined
  /** @default `NAME:VERSION` */
  readonly image?: string | undefined
}

/** Longer names leave no room for the suffixes of objects. */
const longestName = 52

/** @throws InvalidFlag, InvalidConfiguration, and errors of modules */
export async function describeProject(
  modules: readonly string[],
  flags: DeployFlags,
): Promise<InstallationDescription> {
  const manifest = ownManifest()
  const name = flags.name ?? nameFrom(manifest['name'])
  const namespace = flags.namespace ?? `${name}-system`
  checkLabel('name', name, longestName)
  checkLabel('namespace', namespace, 63)
  const version = textOf(manifest['version']) ?? '0.0.0'
  const image = readImage(flags.image ?? `${name}:${version}`)
  const given = await Promise.all(modules.map(givenOperator))
  const { config, operators, settings } = await readConfig(given, flags.file ?? usualFile(modules), { name, namespace })
  if (operators.length === 0) {
    throw new MusterError(
      flagErrors.InvalidFlag,
      'There is no operator to install: name a MODULE, such as src/operator.ts, or a configuration with --file.',
    )
  }
  return {
    name,
    namespace,
    version,
    description: textOf(manifest['description']) ?? `The operators of ${name}.`,
    image,
    operators,
    config,
    settings,
  }
}

interface ReadConfig {
  readonly config: JsonObject
  readonly operators: readonly Operator[]
  readonly settings: InstallationDescription['settings']
}

async function readConfig(
  given: readonly Given[],
  file: string | undefined,
  at: { readonly name: string; readonly namespace: string },
): Promise<ReadConfig> {
  const read = file === undefined ? {} : readYaml(await readNamedFile('file', file), { source: file })
  const own = isJsonObject(read) ? read : {}
  // The image has the files at the paths that they have here, and the manager resolves them against the folder of the project.
  const sections = fromProject(isJsonObject(own['operators']) ? own['operators'] : {}, file)
  const named = given.map(({ operator: { name }, from }) => {
    const section = sections[name]
    return [name, { ...(from !== undefined && { from }), ...(isJsonObject(section) ? section : {}) }] as const
  })
  const config: JsonObject = { ...own, operators: { ...sections, ...Object.fromEntries(named) } }
  const muster = await loadOwnMuster(file ?? (given[0] ? fileOf(given[0].module) : 'muster.yaml'))
  const loader = muster.manager.createLoader({
    folder: process.cwd(),
    own: { file },
    given: [
      ...builtInOperators(),
      ...given.map((one): GivenOperator => ({
        ...one,
        name: one.operator.name,
        load: () => Promise.resolve(one.operator),
      })),
    ],
    async programs(...asked) {
      const { programLoader } = await muster.contract()
      return await programLoader({ hidden: [], others: () => Object.keys(sections) })(...asked)
    },
  })
  try {
    const { configuration } = await composeConfiguration([{ source: file ?? 'modules', value: config }], {
      defaults: [podLayer({ namespace: at.namespace, installation: at.name })],
      operators: (settings) => loader.declared(settings),
    })
    const { settings } = configuration
    const operators: Operator[] = []
    for (const [name, section] of Object.entries(settings.operators)) {
      if (!section.enabled) continue
      // One that cannot be loaded ends it: roles that lack what an operator needs would be worse than none.
      const { operator, close } = await loader.load(name, section)
      operators.push(operator)
      await close?.()
    }
    return { config, operators, settings }
  } finally {
    await loader.close()
  }
}

interface Given {
  readonly module: string
  readonly operator: Operator
  /** Its path or package in the configuration. Undefined: Muster brings it. */
  readonly from: string | undefined
}

async function givenOperator(word: string): Promise<Given> {
  const module = await moduleReference(word)
  const operator = await loadOperator(module)
  if (word.startsWith('@')) {
    // A project may have its own copy of Muster, with the same parts.
    const isBuiltIn = word.startsWith(ownPackage) && builtInOperators().some(({ name }) => name === operator.name)
    return { module, operator, from: isBuiltIn ? undefined : word }
  }
  return { module: path.resolve(module), operator, from: inProject(word, process.cwd(), word) }
}

/** The path in the folder of the project, for the image. @throws InvalidFlag */
function inProject(file: string, folder: string, setting: string): string {
  const relative = path.relative(process.cwd(), path.resolve(folder, file))
  if (relative.startsWith('..') || path.isAbsolute(relative)) {
    throw new MusterError(
      flagErrors.InvalidFlag,
      `${setting} is outside of this folder, and an image has this folder alone: run the command in the folder of the project.`,
    )
  }
  return `./${relative.split(path.sep).join('/')}`
}

/** The sections with paths relative to the project: those of the file are relative to its folder. @throws InvalidFlag */
function fromProject(sections: JsonObject, file: string | undefined): JsonObject {
  const folder = file === undefined ? process.cwd() : path.dirname(path.resolve(file))
  if (folder === process.cwd()) return sections
  const moved: Record<string, Json> = {}
  for (const [name, section = null] of Object.entries(sections)) {
    moved[name] = isJsonObject(section) ? movedSection(section, folder, `operators.${name}`) : section
  }
  return moved
}

function movedSection(section: JsonObject, folder: string, setting: string): JsonObject {
  const { from, program } = section
  return {
    ...section,
    ...(isRelative(from) && { from: inProject(from, folder, `${setting}.from ${from}`) }),
    ...(isJsonObject(program) && { program: movedProgram(program, folder, `${setting}.program`) }),
  }
}

function movedProgram(program: JsonObject, folder: string, setting: string): JsonObject {
  const { command, folder: own = '.', readable } = program
  // Other values are rejected with the whole configuration.
  const move = (value: Json): Json =>
    typeof value !== 'string' || path.isAbsolute(value) ? value : inProject(value, folder, `${setting} ${value}`)
  return {
    ...program,
    ...(isRelative(command) && { command: move(command) }),
    // Its default is the folder of the configuration.
    folder: move(own),
    ...(isJsonArray(readable) && { readable: readable.map(move) }),
  }
}

function isRelative(value: unknown): value is string {
  return typeof value === 'string' && /^\.{1,2}\//.test(value)
}

/** What `muster init` makes. */
function usualFile(modules: readonly string[]): string | undefined {
  return modules.length === 0 && existsSync('muster.yaml') ? 'muster.yaml' : undefined
}

/** Empty if there is none, or if it is no JSON: then npm complains, too. */
function ownManifest(): JsonObject {
  try {
    const read: unknown = JSON.parse(readFileSync('package.json', 'utf8'))
    return isJsonObject(read) ? read : {}
  } catch {
    return {}
  }
}

function nameFrom(given: unknown): string {
  const full = textOf(given) ?? path.basename(process.cwd())
  return full
    .slice(full.lastIndexOf('/') + 1)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function checkLabel(flag: string, word: string, longest: number): void {
  const [problem] = checkDnsLabel(word)
  if (problem !== undefined) throw new MusterError(flagErrors.InvalidFlag, `--${flag} "${word}": it ${problem}.`)
  if (word.length > longest)
    throw new MusterError(flagErrors.InvalidFlag, `--${flag} "${word}": it must have at most ${longest} characters.`)
}

/** `registry:5000/a/b:tag`, `a/b@sha256:…`. @throws InvalidFlag */
function readImage(text: string): InstallationDescription['image'] {
  const [name = '', digest, ...rest] = text.split('@')
  const at = name.lastIndexOf(':')
  const isTag = at > name.lastIndexOf('/')
  const [repository, tag] = isTag ? [name.slice(0, at), name.slice(at + 1)] : [name, 'latest']
  const isDigest = digest === undefined || /^sha256:[0-9a-f]{64}$/.test(digest)
  if (!/^[\w./:-]+$/.test(repository) || !/^\w[\w.-]*$/.test(tag) || !isDigest || rest.length > 0) {
    throw new MusterError(
      flagErrors.InvalidFlag,
      `--image ${text}: write REPOSITORY:TAG, or REPOSITORY@sha256:… with 64 hexadecimal digits.`,
    )
  }
  return { repository, tag, ...(digest !== undefined && { digest }) }
}
