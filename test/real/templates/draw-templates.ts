/** Random templates: every action, nested, with values that fit or do not. */
import type { Chance } from '../differential/chance.ts'
import { drawKey, drawLiteral, drawMap, drawValue, quoted, texts } from './draw-values.ts'
import type { RenderCase } from './render-case.ts'

const formats = [
  '%v',
  '%s',
  '%d',
  '%q',
  '%5.2f',
  '%-8s|',
  '%05d',
  '%x',
  '%X',
  '%t',
  '%T',
  '%+v',
  '%#v',
  '%e',
  '%g',
  '%%',
  '%8.3s|',
  '%+d',
  '% x',
  '%[2]v %[1]v',
  '%*d',
  '%!',
  '%c',
  '%U',
  '%o',
  '%b',
  '%6.2f%%',
  '%08.3f',
  '%+.1e',
  '%#x',
  '%#q',
  '%v %v',
  '%z',
]

interface Scope {
  readonly variables: readonly string[]
  readonly isInRange: boolean
  /** Templates that it may use: none that uses it. */
  readonly partials: readonly string[]
}

class Drawing {
  readonly #chance: Chance

  constructor(chance: Chance) {
    this.#chance = chance
  }

  operand(scope: Scope, depth: number): string {
    const chance = this.#chance
    const kind = chance.below(depth > 0 ? 12 : 8)
    if (kind < 2) return drawLiteral(chance)
    if (kind === 2) return `.Values.${drawKey(chance)}`
    if (kind === 3) return `.Values.${drawKey(chance)}.${drawKey(chance)}`
    if (kind === 4) return chance.pick(['.Release.Name', '$.Values', '.Values', '.a', '.missing.b'])
    if (kind < 8) return scope.variables.length > 0 ? this.#variable(scope) : `$.Values.${drawKey(chance)}`
    if (kind === 8) return `(${this.pipeline(scope, depth - 1)}).${drawKey(chance)}`
    return `(${this.pipeline(scope, depth - 1)})`
  }

  #variable(scope: Scope): string {
    const name = this.#chance.pick(scope.variables)
    return this.#chance.once(4) ? `${name}.${drawKey(this.#chance)}` : name
  }

  command(scope: Scope, depth: number): string {
    const chance = this.#chance
    const one = (): string => this.operand(scope, depth - 1)
    switch (chance.below(20)) {
      case 0:
        return `${chance.pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])} ${one()} ${one()}`
      case 1:
        return `${chance.pick(['and', 'or'])} ${one()} ${one()}${chance.once(3) ? ` ${one()}` : ''}`
      case 2:
        return `not ${one()}`
      case 3:
        return `index ${one()} ${chance.once(2) ? quoted(drawKey(chance)) : chance.below(4)}`
      case 4:
        return `len ${one()}`
      case 5:
        return `printf ${quoted(chance.pick(formats))} ${one()}${chance.once(2) ? ` ${one()}` : ''}`
      case 6:
        return `${chance.pick(['print', 'println', 'html', 'js', 'urlquery'])} ${one()} ${one()}`
      case 7:
        return `${chance.pick(['toYaml', 'toJson', 'quote', 'squote', 'toString', 'typeOf', 'kindOf', 'empty', 'toYamlPretty'])} ${one()}`
      case 8:
        return `default ${one()} ${one()}`
      case 9:
        return `list ${one()} ${one()}`
      case 10:
        return `dict ${quoted(drawKey(chance))} ${one()}`
      case 11:
        return `include ${quoted(chance.pick([...scope.partials, 'none']))} ${one()}`
      case 12:
        return `tpl ${quoted(chance.pick(['{{ .Values.b }}', '{{ .Values.a }}', '{{ include "other" .Values }}', 'plain', '{{ .a.b }}', '{{ fail "no" }}', '{{ bad']))} ${chance.pick(['.', '$', '.Values'])}`
      case 13:
        return `${chance.pick(['trim', 'upper', 'lower', 'title', 'b64enc', 'sha256sum', 'trunc 3', 'indent 2', 'nindent 1', 'repeat 2'])} ${one()}`
      case 14:
        return `required "needed" ${one()}`
      case 15:
        return `${chance.pick(['int', 'int64', 'float64', 'add 1', 'sub 3', 'mul 2', 'max 1', 'ceil', 'floor'])} ${one()}`
      case 16:
        return `ternary ${one()} ${one()} ${chance.pick(['true', 'false', one()])}`
      case 17:
        return `${chance.pick(['first', 'last', 'rest', 'initial', 'uniq', 'compact', 'reverse', 'join ","', 'has 1'])} ${one()}`
      default:
        return one()
    }
  }

  pipeline(scope: Scope, depth: number): string {
    const first = this.command(scope, depth)
    if (!this.#chance.once(3)) return first
    const pipes = [
      'quote',
      'default "d"',
      'toString',
      'len',
      'upper',
      'toJson',
      'toYaml',
      'nindent 2',
      'trunc 2',
      'not',
      'print',
      'printf "%v"',
      'int',
      'eq 1',
      'first',
      'hasKey "a"',
      'b64enc',
      'trim',
      'empty',
    ]
    return `${first} | ${this.#chance.pick(pipes)}`
  }

  #open(): string {
    return this.#chance.once(4) ? '{{- ' : '{{ '
  }

  #close(): string {
    return this.#chance.once(4) ? ' -}}' : ' }}'
  }

  #action(text: string): string {
    return this.#open() + text + this.#close()
  }

  body(scope: Scope, depth: number): string {
    const parts: string[] = []
    const variables = [...scope.variables]
    const inner = { ...scope, variables }
    for (let count = this.#chance.below(3) + 1; count > 0; count--) {
      if (this.#chance.once(4)) {
        const name = `$v${inner.variables.length}`
        parts.push(this.#action(`${name} := ${this.pipeline(inner, depth)}`))
        variables.push(name)
      } else parts.push(this.#part(inner, depth))
    }
    return parts.join(this.#chance.pick(['', ' ', '\n', '\n  ', ' é ']))
  }

  #part(scope: Scope, depth: number): string {
    const chance = this.#chance
    const pipeline = (): string => this.pipeline(scope, 2)
    const body = (inner: Scope = scope): string => this.body(inner, depth - 1)
    const rest = (): string => (chance.once(2) ? `${this.#action('else')}${body()}` : '')
    const end = (): string => this.#action('end')
    const kind = chance.below(depth > 0 ? 14 : 5)
    if (kind < 2) return chance.pick(['text', 'a: b\n', '  indented', chance.pick(texts).replaceAll('{{', '')])
    if (kind < 5) return this.#action(pipeline())
    switch (kind) {
      case 5:
        return `${this.#action(`if ${pipeline()}`)}${body()}${rest()}${end()}`
      case 6:
        return `${this.#action(`if ${pipeline()}`)}${body()}${this.#action(`else if ${pipeline()}`)}${body()}${rest()}${end()}`
      case 7:
        return `${this.#action(`with ${pipeline()}`)}${body()}${rest()}${end()}`
      case 8:
        return `${this.#action(`with $w := ${pipeline()}`)}${body({ ...scope, variables: [...scope.variables, '$w'] })}${end()}`
      case 9:
        return `${this.#action(`range ${pipeline()}`)}${body({ ...scope, isInRange: true })}${rest()}${end()}`
      case 10: {
        const inner = { ...scope, isInRange: true, variables: [...scope.variables, '$k', '$e'] }
        return `${this.#action(`range $k, $e := ${this.#rangeable()}`)}${body(inner)}${rest()}${end()}`
      }
      case 11:
        if (scope.isInRange) return this.#action(chance.pick(['break', 'continue']))
        return this.#action(`template ${quoted(chance.pick(scope.partials))} ${this.operand(scope, 1)}`)
      case 12:
        if (scope.variables.length === 0) return '{{/* comment */}}'
        return this.#action(`${chance.pick(scope.variables)} = ${pipeline()}`)
      default:
        return (
          this.#action(`block ${quoted(chance.pick(['own', 'mine']))} ${this.operand(scope, 1)}`) + 'in a block' + end()
        )
    }
  }

  #rangeable(): string {
    const chance = this.#chance
    return chance.pick([
      '.Values',
      '.Values.list',
      '$.Values.Map',
      '(list 1 "b" nil)',
      '(dict "a" 1 "b" $.Values)',
      'until 3',
      '3',
      '(int64 2)',
      '"ab"',
      '.Values.missing',
    ])
  }
}

export function drawCase(chance: Chance): RenderCase {
  const drawing = new Drawing(chance)
  const outer: Scope = { variables: [], isInRange: false, partials: ['part', 'other'] }
  const part: Scope = { ...outer, partials: ['other'] }
  const values = {
    ...drawMap(chance, 3),
    a: drawValue(chance, 1),
    list: [drawValue(chance, 1), drawValue(chance, 1)],
    Map: drawMap(chance, 2),
  }
  return {
    templates: {
      'templates/a.yaml': drawing.body(outer, 3),
      'templates/_parts.tpl': `{{ define "part" }}[${drawing.body(part, 1)}]{{ end }}{{ define "other" -}} {{ . }} {{- end }}`,
    },
    values,
    ...(chance.once(20) ? { strict: true } : {}),
  }
}

/** One template with the usual values. */
export function caseOf(text: string): RenderCase {
  const values = {
    a: 1,
    b: 'text',
    name: 'web',
    port: { $int64: '8080' },
    list: ['x', 'y', 3],
    Map: { b: 2, a: 'one', deep: { x: null, y: [1, 2] } },
  }
  return { templates: { 'templates/a.yaml': text }, values }
}
