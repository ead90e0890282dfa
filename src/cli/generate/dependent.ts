/**
 * The source file of a dependent, to be completed: constant part, part determined by the CR, scope of drift correction. It
 * type-checks as it is. From then on it belongs to its author and is never overwritten.
 */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../../system/folder.ts'
import { cliErrors } from '../errors.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { readYamlDocuments, writeYaml } from '../../kube/yaml/yaml.ts'
import { type ExportedKind, loadKind } from '../module/module.ts'
import {
  builtinKind,
  customKind,
  type DependentKind,
  type KindName,
  kindsCalled,
  readKindName,
} from './dependent-kind.ts'
import { initialData, type InitialData } from './manifest.ts'
import { readCrds, readSchemaText } from './types.ts'

interface DependentRequest {
  /** The kind of the dependent, by any of its names. */
  readonly kind: string
  /** A manifest to start from. */
  readonly from: string | undefined
  /** A file with the CRD of the kind. */
  readonly crd: string | undefined
  /** The kind of the owning CRs: `FILE#KIND`. */
  readonly owner: string
  /** @default beside the owner's file, named after the kind */
  readonly file: string | undefined
}

interface GeneratedDependent {
  readonly file: string
  /** The name that the file exports. */
  readonly name: string
  readonly text: string
  /** Types that the file imports. */
  readonly types: { readonly file: string; readonly text: string } | undefined
  /** Notes for the user. */
  readonly notes: readonly string[]
}

export async function generateDependent(request: DependentRequest): Promise<GeneratedDependent> {
  const owner = await loadKind(request.owner)
  const asked = readKindName(request.kind)
  const manifest = request.from === undefined ? undefined : await readManifest(request.from, asked)
  const told = { ...asked, apiVersion: asked.apiVersion ?? manifest?.apiVersion }
  const kept = request.crd === undefined ? builtinKind(told) : customKind(told, await readCrds(request.crd))
  const initial = manifest && initialData(manifest.object)
  const file = request.file ?? path.join(path.dirname(owner.file), `${fileWord(kept.kind)}.ts`)
  const name = nameFor(file, owner)
  return {
    file,
    name,
    text: dependentText({ name, kept, initial, owner, file }),
    types: kept.types && { file: path.join(path.dirname(file), kept.types.name), text: kept.types.text },
    notes: [
      ...(initial?.hasSecrets ? ['the values of the Secret were left out: they have no place in code'] : []),
      ...(owner.isBesideOperator
        ? [
            `${owner.file} defines the operator, too: move ${owner.name} to a file of its own, or the two import each other`,
          ]
        : []),
    ],
  }
}

/** Writes the new files. @throws AlreadyThere before anything is written */
export async function writeDependent({ file, text, types }: GeneratedDependent): Promise<readonly string[]> {
  makeFolder(path.dirname(file))
  try {
    await writeFile(file, text, { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new MusterError(
      cliErrors.AlreadyThere,
      `${file} exists: what is in it is yours. --out FILE writes another, --stdout shows it.`,
    )
  }
  if (!types) return [file]
  const isNew = await writeFile(types.file, types.text, { flag: 'wx' }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
  return isNew ? [file, types.file] : [file]
}

interface Manifest {
  readonly apiVersion: string
  readonly object: JsonObject
}

async function readManifest(file: string, { word }: KindName): Promise<Manifest> {
  const manifests = readYamlDocuments(await readSchemaText(file), { source: file }).flatMap((object) => {
    if (!isJsonObject(object)) return []
    const { apiVersion, kind } = object
    return typeof apiVersion === 'string' && typeof kind === 'string' ? [{ apiVersion, kind, object }] : []
  })
  const called = kindsCalled(word)
  const found = manifests.filter(({ kind }) => called.has(kind.toLowerCase()))
  const [first] = found
  if (!first) {
    const kinds = manifests.map(({ kind }) => kind).join(', ') || 'no objects'
    throw new MusterError(flagErrors.InvalidFlag, `${file} holds no ${word}; it holds ${kinds}.`)
  }
  if (found.length > 1) {
    throw new MusterError(flagErrors.InvalidFlag, `${file} holds ${found.length} of ${word}: leave one in it.`)
  }
  return first
}

/** The file name as an identifier. */
function nameFor(file: string, owner: ExportedKind): string {
  const base = path.basename(file).replace(/\.[cm]?[jt]s$/, '')
  const name = base.replaceAll(/[-_.]+([A-Za-z0-9])?/g, (run, letter?: string) => letter?.toUpperCase() ?? run)
  if (/^[a-z][A-Za-z0-9]*$/.test(name) && !reserved.has(name) && name !== owner.name) return name
  throw new MusterError(
    flagErrors.InvalidFlag,
    `--out ${file}: "${name}" cannot be the name of a dependent in code. Call the file otherwise.`,
  )
}

const reserved: ReadonlySet<string> = new Set(
  `await break case catch class const continue debugger default defineDependent delete do else enum export extends false
   finally for function if import in instanceof interface let new null package private protected public resourceOf return
   static super switch this throw true try typeof var void while with yield`.split(/\s+/),
)

interface TextParts {
  readonly name: string
  readonly kept: DependentKind
  readonly initial: InitialData | undefined
  readonly owner: ExportedKind
  readonly file: string
}

function dependentText({ name, kept, initial, owner, file }: TextParts): string {
  const { kind, expression, fromKit } = kept
  const fromOperator = ['defineDependent', ...(fromKit === '' ? [] : [fromKit])]
  const imports = [
    ...kept.imports.filter((line) => !line.includes("'./")),
    `import { ${fromOperator.join(', ')} } from '@muster-dev/muster/operator'`,
    ...kept.imports.filter((line) => line.includes("'./")),
    `import { ${owner.name} } from '${specifier(file, owner.file)}'`,
  ]
  const isIdGiven = name !== lowerFirst(kind)
  return `/** The ${kind} that is kept for each ${owner.kind.kind}. */
${imports.join('\n')}

export const ${name} = defineDependent({
  for: ${owner.name},
  kind: ${expression},
${isIdGiven ? `  id: '${name}',\n` : ''}  // 1. What it always looks like: a part of an object, or YAML. Names and owners are set by the kit.
  initial: ${initialText(initial)},
  // 2. What the CR says about it, laid over the initial data; items of lists with keys, such as containers, by key.
${fromCrText(name, kind, initial !== undefined)}
  // 3. Which of it is kept that way; here all of it. ${exception(kind)} would leave that to others.
  scope: {},
})
`
}

function initialText(initial: InitialData | undefined): string {
  if (!initial || Object.keys(initial.data).length === 0) return '{}'
  const yaml = writeYaml(initial.data).trimEnd().split('\n')
  const text = yaml.map((line) => (line === '' ? '' : `    ${line}`)).join('\n')
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
  return `\`\n${escaped}\n  \``
}

/** A start that works for every CR: a workload needs a selector that matches its own Pods only. */
function fromCrText(name: string, kind: string, hasManifest: boolean): string {
  const instance = 'instance: cr.metadata.name'
  if (kind === 'Deployment' || kind === 'StatefulSet' || kind === 'DaemonSet') {
    // Added to the labels of the manifest.
    const labels = hasManifest ? instance : `app: '${name}', ${instance}`
    return `  fromCR: ({ cr }) => {
    const labels = { ${labels} }
    return { spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } } }
  },`
  }
  const part =
    kind === 'Service' ? `{ spec: { selector: { ${instance} } } }` : `{ metadata: { labels: { ${instance} } } }`
  return `  fromCR: ({ cr }) => (${part}),`
}

function exception(kind: string): string {
  if (kind === 'Deployment' || kind === 'StatefulSet') return "{ except: ['spec.replicas'] }"
  return kind === 'ConfigMap' || kind === 'Secret' ? "{ except: ['data.KEY'] }" : "{ except: ['spec.FIELD'] }"
}

/** `StorageClass` is in `storage-class.ts`. */
function fileWord(kind: string): string {
  return kind.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
}

function specifier(from: string, to: string): string {
  const relative = path
    .relative(path.dirname(path.resolve(from)), path.resolve(to))
    .split(path.sep)
    .join('/')
  return relative.startsWith('.') ? relative : `./${relative}`
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
