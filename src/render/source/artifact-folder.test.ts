import { describe, expect, it } from 'vitest'
import { renderErrors } from '../errors.ts'
import { filesBelow, renderFolder } from './artifact-folder.ts'

const config = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`
const files = new Map(
  Object.entries({
    'deploy/b.yaml': config('b'),
    'deploy/a/c.yml': config('c'),
    'deploy/README.md': '# no manifest',
    'base/kustomization.yaml': 'resources: [x.yaml]\n',
    'base/x.yaml': config('x'),
    'overlay/kustomization.yaml': 'resources: [../base]\nnamePrefix: my-\n',
  }).map(([name, text]) => [name, Buffer.from(text)]),
)
const names = (path: string | undefined, kind: 'Manifests' | 'Kustomization'): readonly unknown[] =>
  renderFolder(files, path, kind).map(({ metadata }) => (metadata as { readonly name: string }).name)

describe('a folder of an artifact', () => {
  it('is rendered as manifests: those of the folder and below, in the order of their paths, or of one file', () => {
    for (const path of ['deploy', './deploy/', 'deploy/.']) expect(names(path, 'Manifests')).toEqual(['c', 'b'])
    expect(names('deploy/b.yaml', 'Manifests')).toEqual(['b'])
  })

  it('is rendered as a kustomization, which may use other folders of the artifact', () => {
    expect(names('overlay', 'Kustomization')).toEqual(['my-x'])
  })

  it('without a kustomization is its manifests, as in Flux', () => {
    expect(names('deploy', 'Kustomization')).toEqual(['c', 'b'])
  })

  it('is never outside of the artifact, and never empty', () => {
    for (const path of ['..', '../x', '/etc', 'a/../../b', 'nowhere'])
      expect(() => names(path, 'Manifests')).toThrow(
        expect.objectContaining({ code: renderErrors.SourceNotFound.code }),
      )
  })

  it('has files by their paths in it', () => {
    expect([...filesBelow(files, 'base').keys()]).toEqual(['kustomization.yaml', 'x.yaml'])
    expect(filesBelow(files, undefined)).toBe(files)
  })
})
