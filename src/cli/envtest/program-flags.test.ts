import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { apiServerFlags } from './apiserver-flags.ts'
import { etcdFlags } from './etcd-flags.ts'
import { programHelp, readProgramFlags } from './program-flags.ts'

const values = (words: readonly string[], flags = apiServerFlags): Record<string, readonly string[]> =>
  Object.fromEntries(readProgramFlags(flags, words).values)

function failureOf(words: readonly string[]): string | undefined {
  try {
    readProgramFlags(apiServerFlags, words)
    return undefined
  } catch (error) {
    return (error as Error).name
  }
}

describe('the flags of a program', () => {
  it('have their values after an equals sign or as the next argument, and may be repeated', () => {
    expect(
      values(['--secure-port=1', '--cert-dir', '/a b', '--secure-port', '2', '', '-v=4', '--allow-privileged']),
    ).toEqual({
      'secure-port': ['1', '2'],
      'cert-dir': ['/a b'],
      v: ['4'],
      'allow-privileged': ['true'],
    })
    expect(values(['--service_account_issuer=x'])).toEqual({ 'service-account-issuer': ['x'] })
    expect(values(['-data-dir', '/d', '--unsafe-no-fsync=true', '-name=a'], etcdFlags)).toEqual({
      'data-dir': ['/d'],
      'unsafe-no-fsync': ['true'],
      name: ['a'],
    })
  })

  it('that are unknown are ignored with their values, and reported with the most similar one', () => {
    const { values: read, warnings } = readProgramFlags(apiServerFlags, ['--secure-prot', '1', '--new', '--other=2'])
    expect(Object.fromEntries(read)).toEqual({ 'secure-prot': ['1'], new: ['true'], other: ['2'] })
    expect(warnings[0]).toBe('kube-apiserver has no flag --secure-prot; it is ignored. Did you mean --secure-port?')
    expect(warnings).toHaveLength(3)
  })

  it('that change responses of the original, and are unsupported, are reported', () => {
    expect(readProgramFlags(apiServerFlags, ['--feature-gates=A=true', '--profiling=false']).warnings).toEqual([
      '--feature-gates has no effect in this control plane.',
    ])
  })

  it.each([
    [['serve'], '"serve" is not a flag'],
    [['-secure-port=1'], '"-secure-port=1" is not a flag'],
    [['--'], '"--" is not a flag'],
    [['--cert-dir'], 'flag needs an argument: --cert-dir'],
    [['--allow-privileged=maybe'], 'invalid argument "maybe" for --allow-privileged'],
  ])('reject %j', (words, why) => {
    expect(() => readProgramFlags(apiServerFlags, words)).toThrow(why)
  })

  it('never fail otherwise, for any arguments', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('--v', '--cert-dir', '--x', '-v'))), (words) => {
        expect(failureOf(words)).toBeOneOf([undefined, 'InvalidFlag'])
      }),
    )
  })

  it('are listed once each, in a help that callers search line by line', () => {
    for (const flags of [apiServerFlags, etcdFlags]) {
      const names = [...programHelp(flags).matchAll(/^\s*--([\w-]+)\b/gm)].map(([, name]) => name!)
      expect(new Set(names).size).toBe(names.length)
      expect(names).toContain('version')
      for (const name of flags.unbuilt) expect(names).toContain(name)
    }
    expect(programHelp(apiServerFlags)).not.toMatch(/^\s*--insecure-port\b/m)
    expect(programHelp(etcdFlags)).toMatch(/^\s*--unsafe-no-fsync\b/m)
  })
})
