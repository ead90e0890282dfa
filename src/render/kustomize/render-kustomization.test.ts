import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { kustomizationCases } from '../../../test/render/kustomizations.ts'
import { randomKustomization } from '../../../test/render/random-kustomization.ts'
import { refusedKustomizations } from '../../../test/render/refused-kustomizations.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { renderKustomization } from './render-kustomization.ts'

describe('a kustomization', () => {
  it.each(kustomizationCases)('$name is rendered as kustomize builds it', ({ files, folder, golden }) => {
    const text = readFileSync(golden, 'utf8')
    const rendered = renderKustomization(files, folder)
    expect(rendered.objects).toEqual(readYamlDocuments(text))
    expect(rendered.text).toBe(text)
  })

  it('is the same for texts and bytes, with a trailing slash or without', () => {
    const { files, folder } = kustomizationCases.find(({ name }) => name === 'names')!
    const texts = new Map([...files].map(([name, bytes]) => [name, Buffer.from(bytes).toString()]))
    expect(renderKustomization(texts, `./${folder}/`)).toEqual(renderKustomization(files, folder))
  })

  it('keeps the order of the files on request', () => {
    const files = new Map([
      ['kustomization.yaml', 'resources: [all.yaml]'],
      [
        'all.yaml',
        'apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n',
      ],
    ])
    const openApiKinds = (reorder: 'legacy' | 'none'): readonly string[] =>
      renderKustomization(files, '.', { reorder }).objects.map(({ kind }) => kind)
    expect(openApiKinds('none')).toEqual(['Service', 'Namespace'])
    expect(openApiKinds('legacy')).toEqual(['Namespace', 'Service'])
  })

  it('ends in objects or in an error of Muster, whatever the fields', () => {
    const strange = Array.from({ length: 200 }, (_, seed) => seed).flatMap((seed) => {
      const { files, folder } = randomKustomization(seed)
      try {
        renderKustomization(files, folder)
        return []
      } catch (error) {
        return error instanceof MusterError ? [] : [{ seed, error }]
      }
    })
    expect(strange).toEqual([])
  })
})

describe('a kustomization is refused', () => {
  it.each(refusedKustomizations)('$name', ({ files, folder = '.', error, message }) => {
    const render = (): unknown => renderKustomization(new Map(Object.entries(files)), folder)
    expect(render).toThrow(message)
    expect(render).toThrow(expect.objectContaining({ name: error }))
  })

  it('if it stands for more objects than fit into memory', () => {
    const files = new Map<string, string>()
    // Each level uses the one below twice: 2^30 objects.
    for (let level = 0; level < 30; level++) {
      for (const side of ['a', 'b']) {
        const below = level === 0 ? ['o.yaml'] : ['a', 'b'].map((one) => `../l${level - 1}${one}`)
        files.set(`l${level}${side}/kustomization.yaml`, `resources: [${below.join(', ')}]\nnamePrefix: ${side}-`)
        if (level === 0) files.set(`l${level}${side}/o.yaml`, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n')
      }
    }
    expect(() => renderKustomization(files, 'l29a')).toThrow('more than')
  })
})
