/**
 * The kustomizations of `test/render/kustomizations`: one folder each, of which the folder `overlay` is built, if there is one.
 * The file of the same name beside it is what kustomize itself makes of it; `npm run test:real` compares them.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, 'kustomizations')

export interface KustomizationCase {
  readonly name: string
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly folder: string
  /** The file with the text that kustomize prints. */
  readonly golden: string
}

export const kustomizationCases: readonly KustomizationCase[] = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => ({
    name,
    files: filesIn(path.join(root, name)),
    folder: existsSync(path.join(root, name, 'overlay')) ? 'overlay' : '.',
    golden: path.join(root, `${name}.yaml`),
  }))

function filesIn(folder: string): ReadonlyMap<string, Uint8Array> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return new Map(
    names
      .filter((name) => statSync(path.join(folder, name)).isFile())
      .map((name) => [name.split(path.sep).join('/'), readFileSync(path.join(folder, name))]),
  )
}
