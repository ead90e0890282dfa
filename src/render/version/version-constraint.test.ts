import { describe, expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import { readGoldens, renderFolder } from '../../../test/render/cases.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { bestVersion } from './best-version.ts'
import { compareSemanticVersions, parseVersion } from './semantic-version.ts'
import { isVersionInRange, parseConstraint } from './version-constraint.ts'

const values = readYaml(readFileSync(`${renderFolder}/charts/versions/values.yaml`, 'utf8')) as {
  readonly constraints: readonly string[]
  readonly versions: readonly string[]
}
const { matches } = readYaml((readGoldens('versions')['versions-plain']?.output ?? '').replace(/^---/, '')) as {
  readonly matches: Readonly<Record<string, readonly string[]>>
}

describe('a version constraint', () => {
  it.for(values.constraints)('admits the versions that Helm finds in range: %s', (constraint) => {
    expect(values.versions.filter((version) => isVersionInRange(constraint, version))).toEqual(matches[constraint])
  })

  it('is none if it cannot be read', () => {
    for (const text of [
      '',
      ' ',
      '>',
      '>>1',
      '> = 1',
      'one',
      '1.2.3.4',
      '>1<2',
      '1,,2',
      '1,',
      '|| 1',
      '1xx',
      '-',
      'a - b',
      '9'.repeat(600),
    ])
      expect(parseConstraint(text)).toBeUndefined()
    expect(isVersionInRange('', '1.0.0')).toBe(false)
    expect(isVersionInRange('*', 'latest')).toBe(false)
  })
})

describe('a version', () => {
  it('may have a v, missing parts and leading zeros', () => {
    const same = ['1.2', 'v1.2', '1.2.0', '01.2.0', '1.2.0+meta'].map((text) => parseVersion(text)!)
    expect(same.map((version) => compareSemanticVersions(version, same[0]!))).toEqual([0, 0, 0, 0, 0])
    for (const text of [
      '',
      'v',
      '1.',
      '.1',
      '1.2.3.4',
      '1.2.3-',
      '1.2.3-01',
      '1.2.3-a..b',
      '1.2.3+',
      '1.2.3-a_b',
      '18446744073709551616',
    ])
      expect(parseVersion(text)).toBeUndefined()
  })

  it('is the best of several if it is the newest release in the range', () => {
    const versions = ['1.0.0', '1.10.0', '1.9.0', '2.0.0-rc.1', 'latest']
    expect(bestVersion(versions, undefined)).toBe('1.10.0')
    expect(bestVersion(versions, '~1.9')).toBe('1.9.0')
    expect(bestVersion(versions, '>=2.0.0-0')).toBe('2.0.0-rc.1')
    expect(bestVersion(versions, '2.0.0-rc.1')).toBe('2.0.0-rc.1')
    expect(bestVersion(versions, '3.x')).toBeUndefined()
  })
})
