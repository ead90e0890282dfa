/** CEL expressions as a real API server compiles and evaluates them. */
import { describe, expect, it } from 'vitest'
import { compileCel } from '../../src/kube/cel/compile.ts'
import { celTypeOfSchema } from '../../src/kube/cel/check/environment.ts'
import { CelCompileError, CelRuntimeError } from '../../src/kube/cel/value/error.ts'
import type { CelProgram } from '../../src/kube/cel/compile.ts'
import { type CelVector, celSelf, celSelfSchema } from '../vectors/cases/cel.ts'
import { readVectors } from '../vectors/read.ts'

const { vectors } = await readVectors<CelVector>('cel')
// The name of the type is made up anew by every server; the recorded ones are masked.
const self = celTypeOfSchema(celSelfSchema, { name: 'selfType' })!
const environment = { variables: { self, oldSelf: self } }

function answerOf(text: string): Omit<CelVector, 'name'> {
  let program: CelProgram
  try {
    program = compileCel(text, environment)
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    return { refusal: `${error.phase === 'source' ? 'compilation' : 'program instantiation'} failed: ${error.message}` }
  }
  try {
    program.evaluate({ self: celSelf })
  } catch (error) {
    if (!(error instanceof CelRuntimeError)) throw error
    return { failure: error.message }
  }
  return { ...formatted(`'%s'.format([type(${text}\n)])`, 'type'), ...formatted(`'%s'.format([${text}\n])`, 'value') }
}

/** Written by the means that the server was asked to write it; nothing where it cannot be written. */
function formatted(text: string, name: 'type' | 'value'): Omit<CelVector, 'name'> {
  try {
    const value = compileCel(text, environment).evaluate({ self: celSelf }) as string
    return value.includes('\n') ? {} : { [name]: value }
  } catch (error) {
    if (error instanceof CelCompileError || error instanceof CelRuntimeError) return {}
    throw error
  }
}

/** Where we differ on purpose. */
const known: Readonly<Record<string, string>> = {
  '"a" + /* no */ "b"': 'the server goes on after a syntax error, and finds more in what is left',
  'self.in': 'the same',
  'google.protobuf.Timestamp{seconds: 1}': 'messages of protocol buffers cannot be made: rules have timestamp()',
}

describe('CEL expressions', () => {
  it('compile, fail and evaluate as on the server', () => {
    const differing = vectors.filter(({ name, ...server }) => {
      const ours = answerOf(name)
      // Where the server could not write the value, it wrote neither part.
      const expected = server.type === undefined && !server.failure && !server.refusal ? {} : ours
      return JSON.stringify(server) !== JSON.stringify(expected)
    })
    const lines = differing
      .filter(({ name }) => !(name in known))
      .map(
        (vector) =>
          `${vector.name}: we say ${JSON.stringify(answerOf(vector.name))}, the server ${JSON.stringify({ ...vector, name: undefined })}`,
      )
    const agreed = Object.keys(known).filter((name) => !differing.some((vector) => vector.name === name))
    expect([...lines, ...agreed.map((name) => `${name}: known to differ, but does not any more`)]).toEqual([])
  })
})
