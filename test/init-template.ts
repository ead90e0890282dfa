/** The operator template of `muster init`, created in a temporary folder and loaded from there. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import command from '../src/cli/init/init.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { readYamlDocuments } from '../src/kube/yaml/yaml.ts'
import type { Operator } from '../src/operator/operator.ts'
import { emptyFolder, install } from './project.ts'

export interface Template {
  readonly operator: Operator
  /** Its example.yaml. */
  readonly sample: readonly UntypedObject[]
}

/** Removed when the test ends. */
export async function loadTemplate(): Promise<Template> {
  const dir = path.join(await emptyFolder(), 'shop')
  const ignore = (): void => undefined
  const { signal } = new AbortController()
  await command.run({ flags: { dir }, positionals: ['shop'], out: ignore, err: ignore, signal })
  await install(dir)
  const place = pathToFileURL(path.join(dir, 'src', 'operator.ts')).href
  const { operator } = (await import(/* @vite-ignore */ place)) as { readonly operator: Operator }
  const example = await readFile(path.join(dir, 'example.yaml'), 'utf8')
  return { operator, sample: readYamlDocuments(example) as unknown as Template['sample'] }
}
