/** The example of docs/kustomize.md is rendered to what the page shows. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { readYamlDocuments } from '../../src/kube/yaml/yaml.ts'
import { renderKustomization } from '../../src/render/kustomize/render-kustomization.ts'

it('shows what its files are rendered to', () => {
  const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/kustomize.md'), 'utf8')
  const snippets = new Map([...page.matchAll(/```yaml\n# (\S+)\n([^`]*)```/g)].map(([, name, text]) => [name!, text!]))
  const { objects } = renderKustomization(snippets, 'overlay')
  expect(objects).toEqual(readYamlDocuments(snippets.get('rendered') ?? ''))
})
