/** Random text and numbers. */
import { type CallContext, type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError, runtimeError } from '../template/go-error.ts'

const digits = '0123456789'
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ascii = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join('')

/** A number below the limit, each with the same probability. */
function below(limit: number, { services }: CallContext): number {
  const size = 2 ** 48
  const fair = size - (size % limit)
  for (;;) {
    const value = Buffer.from(services.randomBytes(6)).readUIntBE(0, 6)
    if (value < fair) return value % limit
  }
}

function randomText(name: string, alphabet: string, needsDigit = false): GoFunction {
  return goFunction('int', ([count]: [bigint], context) => {
    if (count <= 0n) return ''
    context.budget.text(Number(count))
    context.budget.step(Number(count))
    return context.services.generate(name, [count], () => {
      const characters = Array.from({ length: Number(count) }, () => alphabet[below(alphabet.length, context)]!)
      if (needsDigit && !characters.some((character) => digits.includes(character))) {
        characters[below(characters.length, context)] = String(below(10, context))
      }
      return characters.join('')
    })
  })
}

export const randomFunctions: FunctionTable = new Map<string, GoFunction>([
  ['randAlphaNum', randomText('randAlphaNum', letters + digits, true)],
  ['randAlpha', randomText('randAlpha', letters)],
  ['randNumeric', randomText('randNumeric', digits)],
  ['randAscii', randomText('randAscii', ascii)],
  [
    'randBytes',
    goFunction('int', ([count]: [bigint], { services, budget }) => {
      if (count < 0n) throw runtimeError('makeslice: len out of range')
      budget.text(Number(count))
      return services.generate('randBytes', [count], () =>
        Buffer.from(services.randomBytes(Number(count))).toString('base64'),
      )
    }),
  ],
  [
    'randInt',
    goFunction('int int', ([low, high]: [bigint, bigint], context) => {
      if (high <= low) throw new GoError('invalid argument to Intn')
      const spread = Number(high - low)
      const picked = context.services.generate('randInt', [low, high], () => below(Math.min(spread, 2 ** 47), context))
      return low + BigInt(picked)
    }),
  ],
  [
    'shuffle',
    goFunction('string', ([text]: [string], context) =>
      context.services.generate('shuffle', [text], () => {
        const characters = Array.from(text)
        for (let index = characters.length - 1; index > 0; index--) {
          const other = below(index + 1, context)
          ;[characters[index], characters[other]] = [characters[other]!, characters[index]!]
        }
        return characters.join('')
      }),
    ),
  ],
  [
    'uuidv4',
    goFunction('', (_args: readonly unknown[], { services }) =>
      services.generate('uuidv4', [], () => {
        const bytes = Buffer.from(services.randomBytes(16))
        bytes[6] = (bytes[6]! & 0x0f) | 0x40
        bytes[8] = (bytes[8]! & 0x3f) | 0x80
        return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      }),
    ),
  ],
])
