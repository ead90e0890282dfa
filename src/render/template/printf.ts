/** `Sprintf`, `Sprint` and `Sprintln` of Go, with their ways to report a wrong format in the text. */
import { type FormatFlags, noFlags } from './format-number.ts'
import { formatValue } from './format-value.ts'
import { integerValue, isInteger, typeOf } from './values.ts'

/** Widths beyond this are not taken for numbers. */
const widest = 1_000_000

export function sprint(args: readonly unknown[]): string {
  let text = ''
  let wasText = true
  for (const [index, arg] of args.entries()) {
    const isText = typeof arg === 'string'
    if (index > 0 && !isText && !wasText) text += ' '
    text += formatValue(arg, 'v', noFlags)
    wasText = isText
  }
  return text
}

export function sprintln(args: readonly unknown[]): string {
  return `${args.map((arg) => formatValue(arg, 'v', noFlags)).join(' ')}\n`
}

/** @param spend called with the length of each padding before it is created */
export function sprintf(format: string, args: readonly unknown[], spend: (length: number) => void): string {
  return new Formatter(format, args, spend).run()
}

class Formatter {
  readonly #format: string
  readonly #args: readonly unknown[]
  readonly #spend: (length: number) => void
  #at = 0
  #argument = 0
  #isGoodIndex = true
  #isReordered = false

  constructor(format: string, args: readonly unknown[], spend: (length: number) => void) {
    this.#format = format
    this.#args = args
    this.#spend = spend
  }

  run(): string {
    let text = ''
    while (this.#at < this.#format.length) {
      const percent = this.#format.indexOf('%', this.#at)
      if (percent < 0) {
        text += this.#format.slice(this.#at)
        break
      }
      text += this.#format.slice(this.#at, percent)
      this.#at = percent + 1
      text += this.#verb()
    }
    return text + this.#extra()
  }

  #extra(): string {
    if (this.#isReordered || this.#argument >= this.#args.length) return ''
    const rest = this.#args.slice(this.#argument).map((arg) => {
      if (arg === null || arg === undefined) return '<nil>'
      return `${typeOf(arg)}=${formatValue(arg, 'v', noFlags)}`
    })
    return `%!(EXTRA ${rest.join(', ')})`
  }

  #verb(): string {
    let complaint = ''
    const flags: { -readonly [Name in keyof FormatFlags]: FormatFlags[Name] } = { ...noFlags }
    this.#isGoodIndex = true
    this.#readFlags(flags)
    let isIndexed = this.#readIndex()
    if (this.#format[this.#at] === '*') {
      this.#at++
      flags.width = this.#integerArgument()
      if (flags.width === undefined) complaint += '%!(BADWIDTH)'
      else if (flags.width < 0) [flags.width, flags.minus, flags.zero] = [-flags.width, true, false]
      isIndexed = false
    } else {
      flags.width = this.#readNumber()
      if (isIndexed && flags.width !== undefined) this.#isGoodIndex = false
    }
    if (this.#format[this.#at] === '.' && this.#at + 1 < this.#format.length) {
      this.#at++
      if (isIndexed) this.#isGoodIndex = false
      isIndexed = this.#readIndex()
      if (this.#format[this.#at] === '*') {
        this.#at++
        const precision = this.#integerArgument()
        flags.precision = precision !== undefined && precision >= 0 ? precision : undefined
        if (flags.precision === undefined) complaint += '%!(BADPREC)'
        isIndexed = false
      } else flags.precision = this.#readNumber() ?? 0
    }
    if (!isIndexed) this.#readIndex()
    const code = this.#format.codePointAt(this.#at)
    if (code === undefined) return `${complaint}%!(NOVERB)`
    const verb = String.fromCodePoint(code)
    this.#at += verb.length
    return complaint + this.#print(verb, flags)
  }

  #print(verb: string, flags: { -readonly [Name in keyof FormatFlags]: FormatFlags[Name] }): string {
    if (verb === '%') return '%'
    if (!this.#isGoodIndex) return `%!${verb}(BADINDEX)`
    if (this.#argument >= this.#args.length) return `%!${verb}(MISSING)`
    const argument = this.#args[this.#argument++]
    if (verb === 'v' || verb === 'w') {
      Object.assign(flags, { sharpV: flags.sharp, sharp: false, plusV: flags.plus, plus: false })
    }
    this.#spend((flags.width ?? 0) + (flags.precision ?? 0))
    return formatValue(argument, verb, flags)
  }

  #readFlags(flags: { -readonly [Name in keyof FormatFlags]: FormatFlags[Name] }): void {
    for (; ; this.#at++) {
      const character = this.#format[this.#at]
      if (character === '#') flags.sharp = true
      else if (character === '0') flags.zero = true
      else if (character === '+') flags.plus = true
      else if (character === '-') flags.minus = true
      else if (character === ' ') flags.space = true
      else return
    }
  }

  #readNumber(): number | undefined {
    let number: number | undefined
    for (;;) {
      const character = this.#format[this.#at]
      if (character === undefined || character < '0' || character > '9') return number
      if (number !== undefined && number > widest) {
        this.#at = this.#format.length
        return undefined
      }
      number = (number ?? 0) * 10 + Number(character)
      this.#at++
    }
  }

  /** `[3]`: the argument to use next. */
  #readIndex(): boolean {
    if (this.#format[this.#at] !== '[') return false
    this.#isReordered = true
    const close = this.#format.indexOf(']', this.#at + 1)
    if (close < 0) {
      this.#isGoodIndex = false
      this.#at++
      return false
    }
    const digits = this.#format.slice(this.#at + 1, close)
    this.#at = close + 1
    const isNumber = digits.length > 0 && digits.length < 8 && !/\D/.test(digits)
    const index = Number(digits) - 1
    if (isNumber && index >= 0 && index < this.#args.length) {
      this.#argument = index
      return true
    }
    this.#isGoodIndex = false
    return isNumber
  }

  #integerArgument(): number | undefined {
    if (this.#argument >= this.#args.length) return undefined
    const argument = this.#args[this.#argument++]
    if (!isInteger(argument)) return undefined
    const number = Number(integerValue(argument))
    return Math.abs(number) > widest ? undefined : number
  }
}
