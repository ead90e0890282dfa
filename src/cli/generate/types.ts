/** TypeScript types of kinds of other projects, from their CRDs. */
import { readFile } from 'node:fs/promises'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject } from '../../kube/json.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { typesOfCrd } from '../../operator/kind/type-text.ts'
import type { GeneratorOutput } from './generator-output.ts'

export async function typeFiles(file: string): Promise<readonly GeneratorOutput[]> {
  const crds = await readCrds(file)
  return crds.map((crd) => ({ name: `${crd.spec.names.kind.toLowerCase()}.ts`, text: typesOfCrd(crd) }))
}

/** @throws InvalidFlag for a file without CRDs */
export async function readCrds(file: string): Promise<readonly CustomResourceDefinition[]> {
  const documents = readYamlDocuments(await readSchemaText(file), { source: file })
  const crds = documents.filter(
    (document) => isJsonObject(document) && document['kind'] === 'CustomResourceDefinition',
  ) as unknown as readonly CustomResourceDefinition[]
  if (crds.length === 0) throw new MusterError(flagErrors.InvalidFlag, `${file} holds no CustomResourceDefinition.`)
  return crds
}

export async function readSchemaText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new MusterError(flagErrors.InvalidFlag, `${file} cannot be read.`, { cause: error })
  }
}
