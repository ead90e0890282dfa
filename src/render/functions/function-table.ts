/** All functions that a chart's templates may call. */
import { builtins } from '../template/builtins.ts'
import type { FunctionTable } from '../template/function-type.ts'
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

const all: FunctionTable = new Map(tables.flatMap((table) => Array.from(table)))

export function helmFunctions(): FunctionTable {
  return all
}
