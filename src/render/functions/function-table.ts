/** All functions that a chart's templates may call. */
import { builtins } from '../template/builtins.ts'
import type { CallContext, FunctionTable, GoFunction } from '../template/function-type.ts'
import { cryptoFunctions } from './crypto.ts'
import { dateFunctions } from './dates.ts'
import { dictFunctions } from './dicts.ts'
import { durationFunctions } from './durations.ts'
import { encodingFunctions } from './encodings.ts'
import { helmOwnFunctions } from './helm.ts'
import { sprigListFunctions } from './lists.ts'
import { numberFunctions } from './numbers.ts'
import { pathFunctions } from './paths.ts'
import { randomFunctions } from './random.ts'
import { reflectionFunctions } from './reflection.ts'
import { regexFunctions } from './regexes.ts'
import { sprigSemverFunctions } from './semver.ts'
import { sprigStringFunctions } from './strings.ts'
import { sprigUrlFunctions } from './urls.ts'

/** Later tables replace functions of earlier ones. */
const tables: readonly FunctionTable[] = [
  builtins,
  sprigStringFunctions,
  numberFunctions,
  sprigListFunctions,
  dictFunctions,
  encodingFunctions,
  regexFunctions,
  sprigSemverFunctions,
  reflectionFunctions,
  pathFunctions,
  sprigUrlFunctions,
  dateFunctions,
  durationFunctions,
  cryptoFunctions,
  randomFunctions,
  helmOwnFunctions,
]

/** Functions that go through the whole of a value, however deep: they write, copy or compare it. */
const readsWhole: ReadonlySet<string> = new Set(
  [
    'print println printf html js urlquery eq ne lt le gt ge',
    'quote squote cat toString toStrings join sortAlpha toDecimal urlJoin',
    'deepEqual deepCopy mustDeepCopy has mustHas without mustWithout uniq mustUniq',
    'toJson mustToJson toPrettyJson mustToPrettyJson toRawJson mustToRawJson',
    'toYaml mustToYaml toYamlPretty toToml mustToToml',
    'genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey',
  ].flatMap((names) => names.split(' ')),
)

/** Each value is measured before the call: parts that it shares count every time. */
function measured(target: GoFunction): GoFunction {
  const call = (args: never, context: CallContext): unknown => {
    for (const arg of args as readonly unknown[]) context.budget.measure(arg)
    return target.call(args, context)
  }
  return { ...target, call }
}

const all: FunctionTable = new Map(
  tables.flatMap((table) => Array.from(table, ([name, made]) => [name, readsWhole.has(name) ? measured(made) : made])),
)

export function helmFunctions(): FunctionTable {
  return all
}
