/** Runs one declarative test, and reports the differences. */
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { simulateErrors } from '../errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { kindOf, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import type { Operator } from '../../operator/operator.ts'
import type { ControllerResult } from '../../contract/directory/controller-results.ts'
import { selectControllers } from '../../contract/controller-selection.ts'
import { readInputs } from '../../contract/directory/input-directory.ts'
import { unspecifiedFolder } from '../../contract/declaration/mutation.ts'
import { outputFiles, type PlacedFile, writeFiles } from '../../contract/directory/output-directory.ts'
import { type ReadMutation, readOutput, type ReadOutput } from '../../contract/directory/output-reader.ts'
import {
  fillOfflineServer,
  type OfflineServer,
  openOfflineServer,
  openOfflineWorld,
  type OfflineWorld,
} from '../../contract/offline/offline-world.ts'
import { mostRuns, neverQuiet, runBinary, runBinaryOn } from './binary.ts'
import { compareOutputs, differing, type Discrepancy } from './comparison.ts'
import { isIgnored } from './rules.ts'
import { openSeed } from '../environment/seeded-crypto.ts'
import {
  type DeclarativeTest,
  expectedFolder,
  inputFolder,
  type TestObjectRef,
  readTest,
  type TestStep,
} from './test-file.ts'

export interface TestOptions {
  /** Loads the operator of a module: the reference of a test, from its folder. */
  readonly load: (reference: string) => Promise<Operator>
  readonly clock: Clock
  /** Overwrites the expected output. @default false */
  readonly update?: boolean
  /** Keeps the actual output in this folder. @default not kept */
  readonly outputFolder?: string
}

export interface TestResult {
  readonly name: string
  readonly folder: string
  /** `broken`: it could not be run. */
  readonly outcome: 'passed' | 'updated' | 'failed' | 'broken'
  readonly discrepancies: readonly Discrepancy[]
  readonly durationMs: number
  /** What the program printed. */
  readonly stdout: string
  readonly stderr: string
}

/** The output of one step. */
export interface StepOutput {
  readonly files: () => ReadonlyMap<string, string>
  readonly read: ReadOutput
  readonly hasFailed: boolean
  readonly stdout: string
  readonly stderr: string
  /** Problems of the run itself. */
  readonly problems: readonly Discrepancy[]
}

/** Never rejects: an error is a result. */
export async function runTest(folder: string, options: TestOptions): Promise<TestResult> {
  const { clock } = options
  const startedAt = clock.now()
  const printed = { stdout: '', stderr: '' }
  const result = (name: string, outcome: TestResult['outcome'], discrepancies: readonly Discrepancy[]): TestResult => ({
    name,
    folder,
    outcome,
    discrepancies,
    durationMs: clock.now() - startedAt,
    ...printed,
  })
  let name = folder
  try {
    const test = readTest(folder)
    name = test.name
    const found: Discrepancy[] = []
    let isUpdated = false
    for await (const { step, output, world } of stepsOf(test, options)) {
      printed.stdout += output.stdout
      printed.stderr += output.stderr
      if (options.outputFolder !== undefined) writeFiles(path.join(options.outputFolder, step.name), output.files())
      const judged = [...judgeRequests(test, step, output), ...(await judgeObjects(step, world))]
      const mayUpdate = options.update === true && output.problems.length === 0
      if (mayUpdate && judged.some(({ isRequest }) => isRequest)) {
        const expected = path.join(folder, expectedFolder, step.name)
        rmSync(expected, { recursive: true, force: true })
        writeFiles(expected, countedFiles(output, test))
        isUpdated = true
      }
      const left = mayUpdate ? judged.filter(({ isRequest }) => !isRequest) : judged
      found.push(...[...output.problems, ...left].map((each) => (step.name === '' ? each : inStep(each, step))))
    }
    return result(name, found.length > 0 ? 'failed' : isUpdated ? 'updated' : 'passed', found)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return result(name, 'broken', [{ title: message, lines: [] }])
  }
}

/** Ignored files are not kept: no reviewer has to read them. */
function countedFiles({ read, files }: StepOutput, { rules }: DeclarativeTest): ReadonlyMap<string, string> {
  const ignored = new Set(read.mutations.filter((each) => isIgnored(each, rules)).map(({ mutation }) => mutation))
  if (ignored.size === 0) return files()
  const kept = read.mutations.filter(({ mutation }) => !ignored.has(mutation))
  const placed = [...Map.groupBy(kept, ({ mutation }) => mutation)].map(([mutation, reads]) => ({
    mutation,
    folders: reads.flatMap(({ folder }) => (folder === unspecifiedFolder ? [] : [folder])),
    content: reads[0]?.content,
  }))
  return outputFiles({ mutations: placed, results: read.results ?? [] })
}

function inStep({ title, lines }: Discrepancy, { name }: TestStep): Discrepancy {
  return { title: `${name}: ${title}`, lines }
}

async function* stepsOf(
  test: DeclarativeTest,
  options: TestOptions,
): AsyncGenerator<{ readonly step: TestStep; readonly output: StepOutput; readonly world: OfflineServer | undefined }> {
  if (test.binary !== undefined) {
    yield* binarySteps(test, test.binary, options)
    return
  }
  const operator = await options.load(path.resolve(test.folder, test.operator!))
  const objects = await readInputs(path.join(test.folder, inputFolder), operator, { strict: true })
  const { now, seed, config, workloads } = test
  const world = await openOfflineWorld({
    operator,
    objects,
    seed,
    config,
    workloads,
    ...(now !== undefined && { now }),
  })
  const seeded = openSeed(seed)
  for (const step of test.steps) {
    await change(step, test, world)
    yield { step, output: await seeded(() => runStep(step, test, operator, world)), world }
  }
}

/** A single step of a program runs on the input directory itself; otherwise on the state of an embedded cluster. */
async function* binarySteps(
  test: DeclarativeTest,
  binary: string,
  { clock }: TestOptions,
): AsyncGenerator<{ readonly step: TestStep; readonly output: StepOutput; readonly world: OfflineServer | undefined }> {
  const [first] = test.steps
  const isPlain = !test.hasSteps && !first!.untilQuiet && first!.objects.length + first!.absent.length === 0
  if (isPlain) {
    yield { step: first!, output: await runBinary(test, first!, binary, clock), world: undefined }
    return
  }
  const world = await openOfflineServer({
    ...(test.now !== undefined && { now: test.now }),
    seed: test.seed,
    workloads: test.workloads,
  })
  await fillOfflineServer(world, path.join(test.folder, inputFolder))
  for (const step of test.steps) {
    await change(step, test, world)
    yield { step, output: await runBinaryOn(world, test, step, binary, clock), world }
  }
}

async function runStep(
  step: TestStep,
  test: DeclarativeTest,
  operator: Operator,
  world: OfflineWorld,
): Promise<StepOutput> {
  const isChosen = selectControllers(
    step.controllers,
    operator.controllers.map(({ name }) => name),
  )
  const mutations: PlacedFile[] = []
  const problems: Discrepancy[] = []
  let results: readonly ControllerResult[] = []
  let hasFailed = false
  for (let run = 1; ; run++) {
    const done = await world.run(isChosen)
    mutations.push(...done.mutations)
    results = done.results
    hasFailed =
      done.undeclared.length + done.refusedReads.length > 0 ||
      results.some(({ status }) => status === 'Failed' || status === 'Panicked')
    const isQuiet = readOf(done.mutations).every((read) => isIgnored(read, test.rules))
    if (!step.untilQuiet || isQuiet) break
    if (run === mostRuns) {
      problems.push(neverQuiet)
      break
    }
    if (test.workloads) await world.clock.advance(60_000)
  }
  const output = { mutations, results }
  const read = { mutations: readOf(mutations), results, unknown: [] }
  return { files: () => outputFiles(output), read, hasFailed, problems, stdout: '', stderr: '' }
}

function readOf(mutations: readonly PlacedFile[]): readonly ReadMutation[] {
  return mutations.flatMap(({ mutation, folders, content }, sequence) => {
    const places = folders.length > 0 ? folders : [unspecifiedFolder as typeof unspecifiedFolder]
    return places.map((folder) => ({ folder, mutation, content, sequence, file: '' }))
  })
}

/** Applies the changes before the step. */
async function change(
  { apply, remove, advanceMs }: TestStep,
  { folder }: DeclarativeTest,
  world: OfflineServer,
): Promise<void> {
  const { client, clock } = world
  for (const file of apply) {
    const documents = readYamlDocuments(readFileSync(path.join(folder, file), 'utf8'), { source: file })
    for (const document of documents) {
      const { status, ...object } = document as unknown as UntypedObject
      const resource = await resourceOf(object, world)
      const how = { fieldManager: 'test', force: true }
      await client.apply(resource, object, how)
      if (status !== undefined) await client.apply(resource, { ...object, status }, { ...how, subresource: 'status' })
    }
  }
  for (const ref of remove) await client.delete(await resourceOf(ref, world), ref)
  if (advanceMs > 0) await clock.advance(advanceMs)
}

async function resourceOf(
  object: Pick<KubeObject, 'apiVersion' | 'kind'>,
  { client }: OfflineServer,
): Promise<Resource> {
  const resource = await client.discovery.resourceFor(kindOf(object))
  if (!resource)
    throw new MusterError(simulateErrors.InvalidTest, `${object.kind} of ${object.apiVersion} is not served here.`)
  return resource
}

type Judged = Discrepancy & { readonly isRequest: boolean }

function judgeRequests(
  test: DeclarativeTest,
  step: TestStep,
  { read, hasFailed, stderr }: StepOutput,
): readonly Judged[] {
  const failure: readonly Judged[] =
    hasFailed === step.mustFail
      ? []
      : [
          {
            title: step.mustFail ? 'it succeeded, but desiredError says that it fails' : 'it failed',
            lines: step.mustFail ? [] : [...failuresOf(read), ...stderr.trimEnd().split('\n').slice(-20)],
            isRequest: false,
          },
        ]
  if (!step.requests) return failure
  const expected = path.join(test.folder, expectedFolder, step.name)
  return [
    ...failure,
    ...compareWith(expected, read, test).map(({ title, lines }) => ({ title, lines, isRequest: true })),
  ]
}

function failuresOf({ results = [] }: ReadOutput): readonly string[] {
  return results.flatMap(({ controller, errors }) => errors.map((message) => `${controller}: ${message}`))
}

function compareWith(folder: string, read: ReadOutput, { rules }: DeclarativeTest): readonly Discrepancy[] {
  let expected: ReadOutput
  try {
    expected = readOutput(folder)
  } catch (error) {
    const message = isMusterError(error) ? error.message : String(error)
    return [{ title: `${folder} cannot be compared with: ${message} --update writes it anew`, lines: [] }]
  }
  return compareOutputs(expected, read, rules)
}

/** Compares the expected objects. */
async function judgeObjects(step: TestStep, world: OfflineServer | undefined): Promise<readonly Judged[]> {
  const found: Discrepancy[] = []
  for (const wanted of step.objects) {
    const object = wanted as unknown as UntypedObject
    const is = await objectAt(object, world!)
    const name = `${object.kind} ${nameOf(object.metadata)}`
    if (!is) found.push({ title: `missing: ${name}`, lines: [] })
    else found.push(...differing(name, wanted, projected(is as unknown as Json, wanted)))
  }
  for (const ref of step.absent) {
    const is = await objectAt({ ...ref, metadata: ref } as unknown as UntypedObject, world!)
    if (is) found.push({ title: `there, though it should not be: ${ref.kind} ${nameOf(ref)}`, lines: [] })
  }
  return found.map(({ title, lines }) => ({ title, lines, isRequest: false }))
}

async function objectAt(object: UntypedObject, world: OfflineServer): Promise<UntypedObject | undefined> {
  const { name = '', namespace } = object.metadata
  try {
    const found = await world.client.get(await resourceOf(object, world), { name, namespace })
    return found
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return undefined
    throw error
  }
}

/** The live value, reduced to the fields of the expected one. */
function projected(is: Json, wanted: Json): Json {
  if (Array.isArray(is) && Array.isArray(wanted) && is.length === wanted.length) {
    return (is as readonly Json[]).map((item, at) => projected(item, (wanted as readonly Json[])[at]!))
  }
  if (!isJsonObject(is) || !isJsonObject(wanted)) return is
  const shown = Object.keys(wanted).flatMap((key) => {
    const [inner, told] = [is[key], wanted[key]]
    return inner === undefined || !Object.hasOwn(is, key) ? [] : [[key, projected(inner, told ?? null)] as const]
  })
  return Object.fromEntries(shown)
}

function nameOf({ namespace, name }: Partial<TestObjectRef>): string {
  return namespace === undefined ? (name ?? '') : `${namespace}/${name}`
}
