import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { appOperator } from '../../../../test/app-operator.ts'
import { operatorIn, parseModuleName } from './module-name.ts'

describe('the name of a module', () => {
  it.each([
    ['./a.ts', '/here/a.ts', 'operator'],
    ['./a.ts#b', '/here/a.ts', 'b'],
    ['/there/a.js#', '/there/a.js', 'operator'],
    ['./odd#name/a.ts#b', '/here/odd#name/a.ts', 'b'],
  ])('%s is a file and an export', (text, file, exported) => {
    expect(parseModuleName(text, '/here')).toEqual({ file: path.normalize(file), exported })
  })

  it('selects the named operator; without a name, the usual one or the default', () => {
    const [one, two] = [appOperator({}), appOperator({})]
    const at = (exported: string): { file: string; exported: string } => ({ file: '/a.ts', exported })
    expect(operatorIn({ operator: one, default: two }, at('operator'))).toBe(one)
    expect(operatorIn({ default: two }, at('operator'))).toBe(two)
    expect(operatorIn({ operator: one, two }, at('two'))).toBe(two)
    for (const name of ['constructor', '__proto__', 'missing', 'number']) {
      expect(() => operatorIn({ operator: one, number: 1 }, at(name))).toThrow(`/a.ts has no export ${name}`)
    }
  })
})
