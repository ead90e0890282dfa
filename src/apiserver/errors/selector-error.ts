/**
 * The messages of kube-apiserver for selectors that cannot be parsed. Only called for those: the parser of src/kube has
 * messages for people, these are for clients that compare the text.
 */
import { quoteGo } from '../../kube/go/go-text.ts'
import { labelValue, qualifiedNameProblems } from '../../kube/validation/name-validation.ts'

const token = /[^\s!=<>(),]+|==|!=|[!=<>(),]/g
const special = /^(?:==|!=|[!=<>(),])$/
const operators = new Set(['in', 'notin', '=', '==', '!=', '>', '<'])

/** The first syntax error of a label selector. */
export function labelSelectorProblem(text: string): string {
  const tokens = text.match(token) ?? []
  let at = 0
  const ahead = (): string => tokens[at] ?? ''
  const next = (): string => tokens[at++] ?? ''
  const isWord = (one: string): boolean => one !== '' && !special.test(one)

  const listProblem = (): string | undefined => {
    const opening = next()
    if (opening !== '(') return `found '${opening}' expected: '('`
    if (ahead() === '' || (special.test(ahead()) && ahead() !== ',' && ahead() !== ')')) {
      return `found '${ahead()}', expected: ',', ')' or identifier`
    }
    while (ahead() !== ')') {
      const one = next()
      if (isWord(one)) {
        if (ahead() !== ',' && ahead() !== ')') return `found '${ahead()}', expected: ',' or ')'`
      } else if (one !== ',') return `found '${one}', expected: ',', or identifier`
    }
    at++
    return undefined
  }

  const valueProblem = (key: string, operator: string): string | undefined => {
    if (ahead() === '' || ahead() === ',') return undefined
    const value = next()
    if (!isWord(value)) return `found '${value}', expected: identifier`
    const wrong = labelValue(value)
    if (wrong.length > 0) return `values[0][${key}]: Invalid value: ${quoteGo(value)}: ${wrong.join('; ')}`
    if ((operator === '>' || operator === '<') && !/^[+-]?\d+$/.test(value)) {
      return `values[0]: Invalid value: ${quoteGo(value)}: for 'Gt', 'Lt' operators, the value must be an integer`
    }
    return undefined
  }

  const requirementProblem = (): string | undefined => {
    if (ahead() === '!') at++
    const key = next()
    if (!isWord(key)) return `found '${key}', expected: identifier`
    const wrong = qualifiedNameProblems(key)
    if (wrong.length > 0) return `<nil>: Invalid value: ${quoteGo(key)}: ${wrong.join('; ')}`
    if (ahead() === '' || ahead() === ',' || tokens[at - 2] === '!') return undefined
    const operator = next()
    if (!operators.has(operator)) return `found '${operator}', expected: in, notin, =, ==, !=, gt, lt`
    return operator === 'in' || operator === 'notin' ? listProblem() : valueProblem(key, operator)
  }

  while (at < tokens.length) {
    if (special.test(ahead()) && ahead() !== '!')
      return `found '${ahead()}', expected: !, identifier, or 'end of string'`
    const problem = requirementProblem()
    if (problem !== undefined) return `unable to parse requirement: ${problem}`
    const end = next()
    if (end === '') break
    if (end !== ',') return `found '${end}', expected: ',' or 'end of string'`
    if (!isWord(ahead()) && ahead() !== '!') return `found '${ahead()}', expected: identifier after ','`
  }
  return 'unable to parse requirement'
}

/** The first syntax error of a field selector. */
export function fieldSelectorProblem(text: string): string {
  for (const term of text.split(/(?<!\\),/)) {
    if (term === '') continue
    const [, value] = /^[^=!]*(?:!=|==?)(.*)$/s.exec(term) ?? []
    if (value === undefined) return `invalid selector: '${text}'; can't understand '${term}'`
    const [lone] = value.replaceAll(/\\[\\,=]/g, '').match(/[\\=]/) ?? []
    if (lone) return `invalid field selector: unescaped character in value: ${lone.codePointAt(0)}`
  }
  return `invalid selector: '${text}'`
}
