/** A test of a program: started as its users start it, and judged by its output directory. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { executeMutations, checkMutations } from '../../contract/external/execute-mutations.ts'
import { openGatherFolder } from '../../contract/directory/gather-folder.ts'
import { inputsOfCluster } from '../../contract/directory/inputs.ts'
import { unspecifiedFolder } from '../../contract/declaration/mutation.ts'
import { outputFiles } from '../../contract/directory/output-directory.ts'
import { type ReadMutation, readOutput, type ReadOutput } from '../../contract/directory/output-reader.ts'
import { readInputResources, readOutputResources } from '../../contract/declaration/resource-list.ts'
import type { OfflineServer } from '../../contract/offline/offline-world.ts'
import type { Discrepancy } from './comparison.ts'
import { isIgnored } from './rules.ts'
import type { StepOutput } from './run-test.ts'
import { type DeclarativeTest, inputFolder, type TestStep } from './test-file.ts'
import { describeError } from '../../kube/muster-error.ts'

/** The limit of its captured output. */
const mostPrinted = 512 * 1024

/** The most runs until it is quiet. */
export const mostRuns = 20
export const neverQuiet: Discrepancy = { title: `it was still writing after ${mostRuns} runs`, lines: [] }

/**
 * A test on a cluster: its objects are laid out as a directory, and the program's mutations are carried out on it, as
 * by the manager.
 */
export async function runBinaryOn(
  { client, clock: time }: OfflineServer,
  test: DeclarativeTest,
  step: TestStep,
  binary: string,
  clock: Clock,
): Promise<StepOutput> {
  const ask = (command: string): Promise<Ended> => run(binary, [command], environmentOf(test), test.timeoutMs, clock)
  const [asked, told] = [await ask('input-resources'), await ask('output-resources')]
  const failed = [asked, told].find(({ code }) => code !== 0)
  if (failed) return { ...failed, hasFailed: true, read: nothing, files: () => new Map() }
  const inputs = readInputResources(readYaml(asked.stdout), `${binary} input-resources`)
  const declared = readOutputResources(readYaml(told.stdout), `${binary} output-resources`)
  const how = { declared, fieldManager: test.name, targetOf: () => ({ client, writer: client }) }
  const mutations: ReadMutation[] = []
  const input = mkdtempSync(path.join(tmpdir(), 'muster-test-'))
  try {
    const folder = openGatherFolder(input)
    const layOut = async (): Promise<number> =>
      folder.update(await inputsOfCluster(client, inputs.applyConfigurationResources))
    await layOut()
    for (let round = 1; ; round++) {
      const done = await runBinary({ ...test, now: time.now() }, step, binary, clock, input)
      mutations.push(...done.read.mutations)
      const output = { ...done, read: { ...done.read, mutations } }
      if (done.problems.length > 0) return output
      const carried = await executeMutations(await checkMutations(done.read.mutations, how), how)
      const refused = carried.flatMap(({ read, error }) =>
        error === undefined ? [] : [{ title: `refused: ${read.file}`, lines: [describeError(error)] }],
      )
      const isSilent = done.read.mutations.every((read) => isIgnored(read, test.rules))
      // Some programs repeat their output. If the inputs have not changed, another run would bring nothing new.
      const isQuiet = !step.untilQuiet || isSilent || refused.length > 0 || (await layOut()) === 0
      if (isQuiet || round === mostRuns) {
        return {
          ...output,
          problems: [...refused, ...(isQuiet ? [] : [neverQuiet])],
          files: () => filesOf(output.read),
        }
      }
    }
  } finally {
    rmSync(input, { recursive: true, force: true })
  }
}

const nothing: ReadOutput = { mutations: [], results: undefined, unknown: [] }

function filesOf({ mutations, results = [] }: ReadOutput): ReadonlyMap<string, string> {
  const placed = mutations.map(({ mutation, folder, content }) => ({
    mutation,
    content,
    folders: folder === unspecifiedFolder ? [] : [folder],
  }))
  return outputFiles({ mutations: placed, results })
}

export async function runBinary(
  test: DeclarativeTest,
  step: TestStep,
  binary: string,
  clock: Clock,
  input: string = path.join(test.folder, inputFolder),
): Promise<StepOutput> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-test-'))
  try {
    const { controllers } = step
    const isAll = controllers.length === 1 && controllers[0] === '*'
    const args = [
      'apply-configuration',
      '--input-dir',
      input,
      '--output-dir',
      folder,
      ...(test.now === undefined ? [] : ['--now', formatTime(test.now)]),
      ...(isAll ? [] : ['--controllers', controllers.join(',')]),
    ]
    const ended = await run(binary, args, environmentOf(test), test.timeoutMs, clock)
    const read = readOutput(folder)
    const files = filesIn(folder)
    return { ...ended, hasFailed: ended.code !== 0, read, files: () => files }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function environmentOf({ seed, env }: DeclarativeTest): NodeJS.ProcessEnv {
  return { ...process.env, MUSTER_SEED: String(seed), ...env }
}

interface Ended {
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
  readonly problems: readonly Discrepancy[]
}

async function run(
  binary: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  timeoutMs: number,
  clock: Clock,
): Promise<Ended> {
  const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const printed = { stdout: '', stderr: '' }
  const problems: Discrepancy[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed.stdout = (printed.stdout + text).slice(-mostPrinted)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed.stderr = (printed.stderr + text).slice(-mostPrinted)
  })
  const timer = clock.after(timeoutMs, () => {
    problems.push({ title: `it did not end within ${timeoutMs} ms`, lines: [] })
    try {
      // With its children.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It ended by itself.
    }
  })
  const code = await new Promise<number | undefined>((resolve) => {
    child.on('error', (error) => {
      problems.push({ title: `${binary} does not start: ${error.message}`, lines: [] })
      resolve(undefined)
    })
    child.on('close', (exit) => resolve(exit ?? undefined))
  })
  timer.cancel()
  return { code, ...printed, problems }
}

function filesIn(folder: string): ReadonlyMap<string, string> {
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .toSorted()
      .map((file) => [path.relative(folder, file), readFileSync(file, 'utf8')]),
  )
}
