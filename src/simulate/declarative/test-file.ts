/**
 * A declarative test: a folder with a `test.yaml`, an input directory (`input-dir`) and the expected output
 * (`expected-output`). Keys of the upstream format have their upstream meaning; the others are ours.
 *
 * | key            | meaning                                                                                       |
 * | -------------- | --------------------------------------------------------------------------------------------- |
 * | `binaryName`   | the program to run, relative to the working directory                                         |
 * | `operator`     | ours: a module that exports an operator, relative to the folder; it runs in this process      |
 * | `now`          | the time of the clock                                                                         |
 * | `controllers`  | the controllers to run                                                                        |
 * | `desiredError` | `NonZeroReturn`: it must fail                                                                 |
 * | `steps`        | ours: several runs, each with changes before it and expectations after it                     |
 * | `until`        | ours: `quiet` repeats the run until it writes nothing more                                    |
 * | `ignore`       | ours: mutations that are not compared                                                         |
 * | `masks`        | ours: random values, which are not compared                                                   |
 * | `seed`         | ours: the seed of keys, uids and other random values                                          |
 */
import { type Dirent, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from '../../system/error-code.ts'
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import { simulateErrors } from '../errors.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { readNow } from '../../contract/commands.ts'
import { readRules, type Rules } from './rules.ts'
import { scalarText } from '../../contract/text/scalar-text.ts'

export interface DeclarativeTest {
  readonly name: string
  readonly description: string
  /** The folder of its `test.yaml`. */
  readonly folder: string
  /** Either this or `operator`. */
  readonly binary: string | undefined
  readonly operator: string | undefined
  readonly now: number | undefined
  readonly env: Readonly<Record<string, string>>
  readonly config: Readonly<Record<string, unknown>>
  readonly seed: number
  /** Simulates scheduler, kubelets and workload controllers. */
  readonly workloads: boolean
  readonly timeoutMs: number
  readonly rules: Rules
  readonly steps: readonly TestStep[]
  /** Whether it declares steps; otherwise there is one, without a name. */
  readonly hasSteps: boolean
}

export interface TestStep {
  /** The name of its folder in `expected-output`; empty for a single step. */
  readonly name: string
  readonly apply: readonly string[]
  readonly remove: readonly TestObjectRef[]
  readonly advanceMs: number
  readonly controllers: readonly string[]
  readonly untilQuiet: boolean
  readonly mustFail: boolean
  /** Expected objects, compared by the given fields. */
  readonly objects: readonly JsonObject[]
  readonly absent: readonly TestObjectRef[]
  /** Whether the writes are compared with `expected-output`. */
  readonly requests: boolean
}

export interface TestObjectRef {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string | undefined
  readonly name: string
}

const testFile = 'test.yaml'
export const inputFolder = 'input-dir'
export const expectedFolder = 'expected-output'

/** The folders of all tests below, in order. Inputs and outputs are skipped. */
export function findTests(folder: string): readonly string[] {
  let entries: readonly Dirent[]
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    throw new MusterError(simulateErrors.InvalidTest, `${folder} cannot be read (${errorCode(error)}).`, {
      cause: error,
    })
  }
  const here = entries.some((entry) => entry.name === testFile && entry.isFile()) ? [folder] : []
  const below = entries
    .filter((entry) => entry.isDirectory() && ![inputFolder, expectedFolder, 'node_modules'].includes(entry.name))
    .map(({ name }) => path.join(folder, name))
    .toSorted()
  return [...here, ...below.flatMap(findTests)]
}

const testKeys = [
  'binaryName',
  'operator',
  'testName',
  'description',
  'testType',
  'now',
  'controllers',
  'desiredError',
  'env',
  'config',
  'seed',
  'workloads',
  'timeout',
  'ignore',
  'masks',
  'until',
  'steps',
  'expect',
] as const
const stepKeys = ['name', 'apply', 'delete', 'advance', 'controllers', 'until', 'desiredError', 'expect'] as const

/** @throws InvalidTest */
export function readTest(folder: string): DeclarativeTest {
  const file = path.join(folder, testFile)
  try {
    const value = readYaml(readFileSync(file, 'utf8'), { source: file, strict: true })
    if (!isJsonObject(value)) throw invalid('it is no mapping')
    return readMapping(value, folder)
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidYaml)) throw new MusterError(simulateErrors.InvalidTest, error.message)
    if (isMusterError(error))
      throw new MusterError(simulateErrors.InvalidTest, `${file}: ${error.message}`, { cause: error })
    throw new MusterError(simulateErrors.InvalidTest, `${file} cannot be read.`, { cause: error })
  }
}

function readMapping(test: JsonObject, folder: string): DeclarativeTest {
  checkKeys(test, testKeys, '')
  const type = textIn(test, 'testType') ?? 'ApplyConfiguration'
  if (type !== 'ApplyConfiguration') throw invalid(`testType is "${type}"; the only one is ApplyConfiguration`)
  const binary = textIn(test, 'binaryName')
  const operator = textIn(test, 'operator')
  if ((binary === undefined) === (operator === undefined)) throw invalid('it needs either binaryName or operator')
  const now = test['now'] === undefined ? undefined : readNow(scalarText(test['now']))
  const steps = test['steps']
  const shared = { ...(test['controllers'] !== undefined && { controllers: test['controllers'] }) }
  const single: JsonObject = {
    ...shared,
    ...pick(test, ['until', 'desiredError', 'expect']),
  }
  const many = steps === undefined ? undefined : listIn(test, 'steps').map((step) => objectOf(step, 'steps'))
  return {
    name: required(test, 'testName'),
    description: required(test, 'description'),
    folder,
    binary,
    operator,
    now,
    env: strings(test['env'] ?? {}, 'env'),
    config: objectOf(test['config'] ?? {}, 'config'),
    seed: seedIn(test),
    workloads: test['workloads'] === true,
    timeoutMs: durationIn(test, 'timeout') ?? 5000,
    rules: readRules(listIn(test, 'ignore'), listIn(test, 'masks')),
    hasSteps: many !== undefined,
    steps: (many ?? [single]).map((step, index) => readStep({ ...shared, ...step }, index, many !== undefined)),
  }
}

function readStep(step: JsonObject, index: number, isNamed: boolean): TestStep {
  const place = isNamed ? `steps[${index}]` : ''
  checkKeys(step, stepKeys, place)
  const expect = objectOf(step['expect'] ?? {}, `${place}.expect`)
  checkKeys(expect, ['objects', 'absent', 'requests'], `${place}.expect`)
  const until = textIn(step, 'until')
  if (until !== undefined && until !== 'quiet') throw invalid(`${place} until is "${until}"; it can be "quiet" only`)
  const error = textIn(step, 'desiredError') ?? ''
  if (error !== '' && error !== 'NonZeroReturn') throw invalid(`desiredError is "${error}"; it can be NonZeroReturn`)
  const name = textIn(step, 'name') ?? String(index + 1).padStart(2, '0')
  if (!/^[\w][\w. -]*$/.test(name)) throw invalid(`${place}: "${name}" cannot be the name of a folder`)
  const apply = step['apply'] ?? []
  return {
    name: isNamed ? name : '',
    apply: (Array.isArray(apply) ? apply : [apply]).map(String),
    remove: listIn(step, 'delete').map((each) => refOf(each, `${place}.delete`)),
    advanceMs: durationIn(step, 'advance') ?? 0,
    controllers: step['controllers'] === undefined ? ['*'] : listIn(step, 'controllers').map(String),
    untilQuiet: until === 'quiet',
    mustFail: error !== '',
    objects: listIn(expect, 'objects').map((each) => objectOf(each, `${place}.expect.objects`)),
    absent: listIn(expect, 'absent').map((each) => refOf(each, `${place}.expect.absent`)),
    requests: expect['requests'] !== false,
  }
}

function refOf(value: Json, place: string): TestObjectRef {
  const ref = objectOf(value, place)
  const namespace = textIn(ref, 'namespace')
  return {
    apiVersion: required(ref, 'apiVersion'),
    kind: required(ref, 'kind'),
    name: required(ref, 'name'),
    namespace,
  }
}

function pick(value: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]]])))
}

function checkKeys(value: JsonObject, keys: readonly string[], place: string): void {
  for (const key of Object.keys(value)) {
    if (keys.includes(key)) continue
    const near = nearest(key, keys)
    const hint = near === undefined ? `There are: ${keys.join(', ')}` : `Did you mean "${near}"?`
    throw invalid(`there is no key "${key}"${place === '' ? '' : ` in ${place}`}. ${hint}`)
  }
}

function seedIn({ seed = 1 }: JsonObject): number {
  if (typeof seed === 'number' && Number.isSafeInteger(seed) && seed >= 0) return seed
  throw invalid(`seed is ${JSON.stringify(seed)}; it must be a whole number`)
}

function durationIn(value: JsonObject, key: string): number | undefined {
  const text = value[key]
  return text === undefined ? undefined : durationToMs(parseDuration(scalarText(text)))
}

function textIn(value: JsonObject, key: string): string | undefined {
  const text = value[key]
  if (text === undefined || text === null) return undefined
  if (typeof text !== 'string') throw invalid(`${key} is no text`)
  return text.trimEnd()
}

function required(value: JsonObject, key: string): string {
  const text = textIn(value, key)
  if (text === undefined || text === '') throw invalid(`it has no ${key}`)
  return text
}

function listIn(value: JsonObject, key: string): readonly Json[] {
  const list = value[key] ?? []
  if (!Array.isArray(list)) throw invalid(`${key} is no list`)
  return list as readonly Json[]
}

function objectOf(value: Json, place: string): JsonObject {
  if (!isJsonObject(value)) throw invalid(`${place} holds something that is no mapping`)
  return value
}

function strings(value: Json, place: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(objectOf(value, place)).map(([key, text]) => [key, scalarText(text)]))
}

function invalid(problem: string): MusterError {
  return new MusterError(simulateErrors.InvalidTest, `${problem}.`)
}
