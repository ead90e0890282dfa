/** Writes what follows from a kind: its CRD, or the types of somebody else's. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { MusterError } from '../kube/errors.ts'
import { isJsonObject, type Json } from '../kube/json.ts'
import type { CustomResourceDefinition } from '../kube/types/apiextensions/v1.ts'
import { readYamlDocuments, writeYaml } from '../kube/yaml.ts'
import { typesOfCrd } from '../operator/type-text.ts'
import { type Command, defineCommand } from './command.ts'

export const command: Command = defineCommand({
  usage: 'crd MODULE | types FILE',
  details:
    'crd: the CustomResourceDefinitions of all kinds that a module exports (defineKind). types: TypeScript types from a CRD in a file. Both go to standard output, or to files with --out.',
  flags: {
    out: { type: 'string', value: 'DIR', help: 'folder to write to, one file a kind (default: standard output)' },
  },
  async run({ flags, positionals, out }) {
    const [what, file, ...rest] = positionals
    if (file === undefined || rest.length > 0 || (what !== 'crd' && what !== 'types')) {
      throw new MusterError(
        'InvalidFlag',
        'say what to generate, and from which file: generate crd MODULE, or generate types FILE.',
      )
    }
    const made = what === 'crd' ? await crdFiles(file) : await typeFiles(file)
    for (const { name, text } of made) {
      if (flags.out === undefined) out(text.trimEnd())
      else {
        await mkdir(flags.out, { recursive: true })
        await writeFile(path.join(flags.out, name), text)
        out(path.join(flags.out, name))
      }
    }
    return 0
  },
})

interface Made {
  readonly name: string
  readonly text: string
}

async function crdFiles(module: string): Promise<readonly Made[]> {
  const exported = await load(module)
  const crds = Object.values(exported).flatMap((value) => (isKind(value) ? [value.crd()] : []))
  if (crds.length === 0) {
    throw new MusterError('InvalidFlag', `${module} exports no kind: define one with defineKind and export it.`)
  }
  return crds.map((crd) => ({
    name: `${crd.metadata?.name ?? ''}.yaml`,
    text: `---\n${writeYaml(crd as unknown as Json)}`,
  }))
}

async function load(module: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path.resolve(module)).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown reason'
    throw new MusterError('InvalidFlag', `${module} cannot be loaded: ${why}.`, { cause: error })
  }
}

function isKind(value: unknown): value is { crd(): CustomResourceDefinition } {
  return typeof value === 'object' && value !== null && 'crd' in value && typeof value.crd === 'function'
}

async function typeFiles(file: string): Promise<readonly Made[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new MusterError('InvalidFlag', `${file} cannot be read.`, { cause: error })
  }
  const crds = readYamlDocuments(text).filter(
    (document) => isJsonObject(document) && document['kind'] === 'CustomResourceDefinition',
  ) as unknown as readonly CustomResourceDefinition[]
  if (crds.length === 0) throw new MusterError('InvalidFlag', `${file} holds no CustomResourceDefinition.`)
  return crds.map((crd) => ({ name: `${crd.spec.names.kind.toLowerCase()}.ts`, text: typesOfCrd(crd) }))
}
