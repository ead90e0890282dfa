/** Helm's own functions. */
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError } from '../template/go-error.ts'
import { markWarning } from '../template/helm-error.ts'

type Texts = readonly [string, string, string, string]

export const helmOwnFunctions: FunctionTable = new Map<string, GoFunction>([
  ['include', goFunction('string any', ([name, data]: [string, unknown], context) => context.include(name, data))],
  ['tpl', goFunction('string any', ([text, data]: [string, unknown], context) => context.tpl(text, data))],
  [
    'required',
    goFunction('string any', ([message, value]: [string, unknown]) => {
      if ((value ?? null) === null || value === '') throw new GoError(markWarning(message))
      return value
    }),
  ],
  [
    'fail',
    goFunction('string', ([message]: [string]) => {
      throw new GoError(markWarning(message))
    }),
  ],
  [
    'lookup',
    goFunction('string string string string', ([apiVersion, kind, namespace, name]: Texts, { services }) => {
      return services.lookup?.(apiVersion, kind, namespace, name) ?? {}
    }),
  ],
  ['getHostByName', goFunction('string', () => '')],
])
