import { describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/certificates.ts'
import {
  memoryMachine,
  type MemoryMachine,
  type MemoryMachineOptions,
  systemError,
} from '../../../test/memory-machine.ts'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { describeError } from '../../kube/muster-error.ts'
import type { Credentials } from '../connection.ts'
import { execCredentials } from './exec-plugin.ts'
import type { KubeconfigExec } from './kubeconfig.ts'
import { type Finished, type CredentialProgram, systemMachine } from './machine.ts'

const v1 = 'client.authentication.k8s.io/v1'
const place = { source: 'config', path: 'users[0].user.exec', directory: '/home/me/.kube' }
const clusterInfo = { server: 'https://c', 'certificate-authority-data': 'Q0E=', config: { audience: 'x' } }

function printed(status: object, apiVersion: string = v1): Finished {
  return { exitCode: 0, stdout: JSON.stringify({ kind: 'ExecCredential', apiVersion, status }), stderr: '' }
}

function setUp(
  run: (program: CredentialProgram) => Promise<Finished> | Finished,
  plugin: KubeconfigExec = {},
  options: MemoryMachineOptions = {},
): { readonly clock: VirtualClock; readonly machine: MemoryMachine; readonly credentials: Credentials } {
  const clock = virtualClock()
  const machine = memoryMachine({ ...options, run })
  const value = { command: 'aws', apiVersion: v1, interactiveMode: 'Never', ...plugin }
  const credentials = execCredentials({ value, place }, { machine, clock, clusterInfo, timeoutMs: 60_000 })
  return { clock, machine, credentials }
}

/** A plugin whose tokens are numbered and live for `lifeMs`. */
function numbered(lifeMs?: number): ReturnType<typeof setUp> {
  let count = 0
  const made = setUp(() => {
    count++
    const at = new Date(made.clock.now() + (lifeMs ?? 0)).toISOString()
    return printed({ token: `token-${count}`, ...(lifeMs === undefined ? {} : { expirationTimestamp: at }) })
  })
  return made
}

const tokenOf = async (credentials: Credentials): Promise<string | undefined> =>
  (await credentials.headers())['authorization']

describe('execCredentials', () => {
  it('passes the cluster, arguments and environment to the plugin', async () => {
    const env = [{ name: 'AWS_PROFILE', value: 'dev' }, { name: 'EMPTY' }]
    const { machine, credentials } = setUp(
      () => printed({ token: 'abc' }),
      { args: ['eks', 'get-token'], env },
      { env: { PATH: '/bin', AWS_PROFILE: 'other' } },
    )
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer abc' })
    expect(await credentials.certificate()).toBeUndefined()
    expect(machine.runs).toHaveLength(1)
    expect(machine.runs[0]).toMatchObject({ command: 'aws', args: ['eks', 'get-token'], interactive: false })
    expect(machine.runs[0]?.env).toEqual({
      PATH: '/bin',
      AWS_PROFILE: 'dev',
      EMPTY: '',
      KUBERNETES_EXEC_INFO: `{"kind":"ExecCredential","apiVersion":"${v1}","spec":{"interactive":false}}`,
    })
  })

  it('describes the cluster to a plugin on request', async () => {
    const { machine, credentials } = setUp(() => printed({ token: 'abc' }), { provideClusterInfo: true })
    await credentials.headers()
    expect(JSON.parse(machine.runs[0]?.env['KUBERNETES_EXEC_INFO'] ?? '')).toMatchObject({
      spec: { cluster: clusterInfo, interactive: false },
    })
  })

  it.each([
    ['Never', true, false],
    ['IfAvailable', true, true],
    ['IfAvailable', false, false],
    [undefined, true, true],
    ['Always', true, true],
  ])('passes the terminal for interactiveMode %s with a terminal: %s', async (interactiveMode, interactive, given) => {
    const { machine, credentials } = setUp(() => printed({ token: 'abc' }), { interactiveMode }, { interactive })
    await credentials.headers()
    expect(machine.runs[0]?.interactive).toBe(given)
    expect(machine.runs[0]?.env['KUBERNETES_EXEC_INFO']).toContain(`"interactive":${given}`)
  })

  it('does not start an interactive plugin without a terminal', async () => {
    const { machine, credentials } = setUp(() => printed({ token: 'abc' }), { interactiveMode: 'Always' })
    await expect(credentials.headers()).rejects.toThrow('standard input is not a terminal')
    expect(machine.runs).toEqual([])
  })

  it('runs once for concurrent callers', async () => {
    const { clock, machine, credentials } = setUp(async () => {
      await clock.sleep(500)
      return printed({ token: 'abc' })
    })
    const answers = Promise.all(
      Array.from({ length: 30 }, () => Promise.all([credentials.headers(), credentials.certificate()])),
    )
    await clock.advance(500)
    await answers
    expect(machine.runs).toHaveLength(1)
  })

  it('keeps a token until shortly before it expires', async () => {
    const { clock, machine, credentials } = numbered(3_600_000)
    await credentials.headers()
    await clock.advance(3_600_000 - 30_001)
    expect(await tokenOf(credentials)).toBe('Bearer token-1')
    await clock.advance(1)
    expect(await tokenOf(credentials)).toBe('Bearer token-2')
    expect(machine.runs).toHaveLength(2)
  })

  it('keeps a short-lived token for most of its life', async () => {
    const { clock, machine, credentials } = numbered(20_000)
    await credentials.headers()
    await clock.advance(17_999)
    expect(await tokenOf(credentials)).toBe('Bearer token-1')
    await clock.advance(1)
    await credentials.headers()
    expect(machine.runs).toHaveLength(2)
  })

  it('keeps a token without expiry until it is rejected', async () => {
    const { clock, machine, credentials } = numbered()
    const sent = await credentials.headers()
    await clock.advance(30 * 86_400_000)
    expect(await tokenOf(credentials)).toBe('Bearer token-1')
    expect(credentials.refused(sent)).toBe(true)
    expect(await tokenOf(credentials)).toBe('Bearer token-2')
    expect(credentials.refused(sent)).toBe(true)
    expect(await tokenOf(credentials)).toBe('Bearer token-2')
    expect(machine.runs).toHaveLength(2)
  })

  it('shares nothing with another user of the same name', async () => {
    const [one, two] = [numbered(), setUp(() => printed({ token: 'other' }))]
    expect(await tokenOf(one.credentials)).toBe('Bearer token-1')
    expect(await tokenOf(two.credentials)).toBe('Bearer other')
  })

  it('returns a certificate while it is valid', async () => {
    const ca = makeCa()
    const issue = (): ReturnType<typeof ca.issue> =>
      ca.issue({ commonName: 'jane', notAfter: new Date(made.clock.now() + 600_000) })
    const made: ReturnType<typeof setUp> = setUp(() => {
      const { cert, key } = issue()
      return printed({ clientCertificateData: cert, clientKeyData: key })
    })
    const first = await made.credentials.certificate()
    expect(await made.credentials.headers()).toEqual({})
    expect((await made.credentials.certificate())?.id).toBe(first?.id)
    await made.clock.advance(600_000)
    expect((await made.credentials.certificate())?.id).not.toBe(first?.id)
  })

  it('supports v1beta1', async () => {
    const apiVersion = 'client.authentication.k8s.io/v1beta1'
    const { credentials } = setUp(() => printed({ token: 'abc' }, apiVersion), { apiVersion })
    expect(await tokenOf(credentials)).toBe('Bearer abc')
  })

  it('stops a plugin at its timeout', async () => {
    const { clock, machine, credentials } = setUp(
      (program) =>
        new Promise((_resolve, reject) => {
          program.signal.addEventListener('abort', () => reject(program.signal.reason as Error))
        }),
    )
    const asked = credentials.headers()
    asked.catch(() => undefined)
    await clock.advance(60_000)
    await expect(asked).rejects.toThrow(
      'credential plugin "aws" (users[0].user.exec in config) did not answer within 60 s',
    )
    expect(machine.runs[0]?.signal.aborted).toBe(true)
  })

  const exit = (exitCode: number | null, stderr: string): Finished => ({ exitCode, stdout: '', stderr })
  it.each<[string, () => Finished, string]>([
    ['exit code and error output', () => exit(1, 'no session'), 'ended with exit code 1: no session.'],
    ['an exit without output', () => exit(2, ''), 'ended with exit code 2 and wrote nothing to standard error.'],
    ['a signal', () => exit(null, ''), 'was ended by a signal'],
    [
      'a missing wrapped program',
      () => exit(127, 'aws: not found'),
      'exit code 127: aws: not found. Get it from example.com.',
    ],
    ['no output', () => ({ exitCode: 0, stdout: '', stderr: '' }), 'printed nothing'],
    ['other output', () => ({ exitCode: 0, stdout: 'hello', stderr: '' }), 'printed something else than JSON'],
    ['another kind', () => ({ exitCode: 0, stdout: '{"kind":"Pod"}', stderr: '' }), 'but printed another'],
    [
      'another version',
      () => printed({ token: 'x' }, 'client.authentication.k8s.io/v1beta1'),
      `ExecCredential of ${v1}`,
    ],
    [
      'no status',
      () => ({ exitCode: 0, stdout: JSON.stringify({ kind: 'ExecCredential', apiVersion: v1 }), stderr: '' }),
      'without status',
    ],
    ['an empty status', () => printed({}), 'neither a token nor a certificate'],
    ['an incomplete pair', () => printed({ clientKeyData: 'x' }), 'only one of certificate and key'],
    ['a number for a token', () => printed({ token: 1 }), 'status.token must be text, but is a number'],
    ['a token of two lines', () => printed({ token: 'a\nb' }), 'not one line'],
    ['a strange time', () => printed({ token: 'a', expirationTimestamp: 'soon' }), 'not a time'],
    [
      'a mismatched pair',
      () => printed({ clientCertificateData: 'x', clientKeyData: 'y' }),
      'no readable PEM certificate',
    ],
  ])('says what went wrong: %s', async (_name, run, words) => {
    const { credentials } = setUp(run, { installHint: 'Get it\nfrom example.com' })
    await expect(credentials.headers()).rejects.toThrow(words)
  })

  it('passes on the install hint when the program is missing', async () => {
    const missing = (): never => {
      throw systemError('ENOENT')
    }
    const { credentials } = setUp(missing, { installHint: '\u001B[1mbrew install aws\u001B[0m' })
    await expect(credentials.headers()).rejects.toMatchObject({
      name: 'ExecPluginFailed',
      message: 'credential plugin "aws" (users[0].user.exec in config) was not found in PATH. brew install aws.',
    })
  })

  it('never repeats a secret of its input or output', async () => {
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln'
    const { credentials } = setUp(
      () => ({
        exitCode: 1,
        stdout: JSON.stringify({ status: { token: 'canary-stdout' } }),
        stderr: `get-token: canary-env rejected for canary-arg: canary-stdout; canary-word, Bearer canary-header ${jwt}`,
      }),
      {
        env: [{ name: 'SECRET', value: 'canary-env' }],
        args: ['get-token', '--pw=canary-arg', '--client-secret', 'canary-word'],
      },
    )
    const message = await credentials.headers().then(() => 'no error', describeError)
    expect(message).toContain('get-token: [redacted] rejected for [redacted]')
    expect(message).not.toMatch(/canary|eyJ/)
  })

  it('works with a real program', async () => {
    const script = `
      const { spec, apiVersion, kind } = JSON.parse(process.env.KUBERNETES_EXEC_INFO)
      const token = [process.env.PREFIX, spec.cluster.server, spec.interactive].join('|')
      console.log(JSON.stringify({ apiVersion, kind, status: { token, expirationTimestamp: '2999-01-01T00:00:00Z' } }))`
    const value = {
      command: process.execPath,
      args: ['-e', script],
      env: [{ name: 'PREFIX', value: 'p' }],
      apiVersion: v1,
      interactiveMode: 'Never',
      provideClusterInfo: true,
    }
    const options = { machine: systemMachine, clock: systemClock, clusterInfo, timeoutMs: 60_000 }
    const credentials = execCredentials({ value, place }, options)
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer p|https://c|false' })
  })

  it('reports the exit of a real program', async () => {
    const value = {
      command: process.execPath,
      args: ['-e', 'console.error("please log in"); process.exit(7)'],
      apiVersion: v1,
      interactiveMode: 'Never',
    }
    const options = { machine: systemMachine, clock: systemClock, clusterInfo, timeoutMs: 60_000 }
    await expect(execCredentials({ value, place }, options).headers()).rejects.toThrow('exit code 7: please log in.')
  })
})
