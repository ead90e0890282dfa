import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMusterError } from '../../kube/muster-error.ts'
import { platformErrors } from '../errors.ts'
import { importInstallations } from './import-installations.ts'

describe('an import of anything', () => {
  const kinds = fc.constantFrom(
    ['helm.toolkit.fluxcd.io/v2', 'HelmRelease'],
    ['kustomize.toolkit.fluxcd.io/v1', 'Kustomization'],
    ['argoproj.io/v1alpha1', 'Application'],
    ['operator.kyma-project.io/v1beta2', 'ModuleTemplate'],
    ['source.toolkit.fluxcd.io/v1', 'HelmRepository'],
    ['source.toolkit.fluxcd.io/v1', 'OCIRepository'],
  )
  const field = fc.constantFrom(
    ...'spec chart chartRef sourceRef kind name interval values valuesFrom install remediation retries upgrade'.split(
      ' ',
    ),
    ...'driftDetection ignore paths target source sources repoURL helm parameters syncPolicy automated url ref'.split(
      ' ',
    ),
    ...'descriptor component resources repositoryContexts dependsOn secretRef __proto__ constructor'.split(' '),
  )
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, true, -1, 1.5, '', 'OCIRepository', 'HelmRepository', 'a', 'oci://a', '*'),
      fc.dictionary(field, tie('tree'), { maxKeys: 5 }),
      fc.array(tie('tree'), { maxLength: 2 }),
    ),
  }))
  const documents = fc
    .tuple(kinds, fc.dictionary(field, tree, { maxKeys: 6 }))
    .map(([[apiVersion, kind], spec]) => ({ apiVersion, kind, metadata: { name: 'a' }, spec }))

  it('never fails on objects, whatever their fields are', () => {
    fc.assert(
      fc.property(fc.array(documents, { maxLength: 4 }), (objects) => {
        const { installations } = importInstallations(objects)
        expect(
          installations.every(
            ({ spec }) => Object.keys(spec.source).filter((name) => name !== 'interval').length === 1,
          ),
        ).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('refuses what is no object with its own error', () => {
    const outcome = (value: unknown): boolean => {
      try {
        importInstallations([value])
        return true
      } catch (error) {
        return isMusterError(error, platformErrors.InvalidImport)
      }
    }
    fc.assert(fc.property(fc.anything(), outcome))
    expect(() => importInstallations([{ apiVersion: 'v1', kind: 'A' }])).toThrow(/Object 1 .* metadata.name/)
  })

  it('notes every field that it does not know', () => {
    const name = fc.stringMatching(/^x[a-z]{3,8}$/)
    fc.assert(
      fc.property(name, fc.constantFrom('spec', 'chart', 'install', 'drift'), (unknown, place) => {
        const more = (at: string): object => (at === place ? { [unknown]: 1 } : {})
        const { notes } = importInstallations([
          {
            apiVersion: 'source.toolkit.fluxcd.io/v1',
            kind: 'HelmRepository',
            metadata: { name: 'r' },
            spec: { url: 'https://charts.example.com' },
          },
          {
            apiVersion: 'helm.toolkit.fluxcd.io/v2',
            kind: 'HelmRelease',
            metadata: { name: 'a' },
            spec: {
              chart: { spec: { chart: 'a', sourceRef: { kind: 'HelmRepository', name: 'r' }, ...more('chart') } },
              install: more('install'),
              driftDetection: { ignore: [{ paths: ['/a'], ...more('drift') }] },
              ...more('spec'),
            },
          },
        ])
        expect(notes.filter((note) => note.field.endsWith(`.${unknown}`))).toHaveLength(1)
      }),
    )
  })
})
