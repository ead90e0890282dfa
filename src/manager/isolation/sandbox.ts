/**
 * A sandbox: walls that the kernel keeps, built by the tools of util-linux and without any privilege.
 *
 * In namespaces of its own a program finds no network, no other process and no files but those it was given, which it
 * cannot change; it has no capabilities and cannot gain any. It ends with the manager, whatever it does.
 *
 * Where it cannot be built (no user namespaces, no Linux) or does not hold, that is said; nobody pretends.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Canary } from './protocol.ts'
import { outermost } from './readable.ts'

export interface SandboxOptions {
  /** An empty folder, where its root is made. Nothing is left there. */
  readonly root: string
  /** Real paths that it may read. */
  readonly readable: readonly string[]
  /** What it may allocate, in MiB: heap, buffers, stacks and what Node itself takes. */
  readonly memoryMb: number
  /** Where the tools of util-linux are, as a PATH. @default the system's folders */
  readonly tools?: string | undefined
}

/** What dynamic linking needs. Not /etc, not /proc, nothing that a secret could be in. */
const system = ['/usr', '/lib', '/lib64', '/bin'] as const

/**
 * Run by the shell, as root of a user namespace: ROOT MEMORY PATH… -- COMMAND…
 * What cannot be made read-only stops it. /proc is there only as long as umount(8) needs it.
 */
const script = `
set -eu
root=$1 memory=$2; shift 2
mount -t tmpfs -o size=1m,mode=755 tmpfs "$root"
while [ "$1" != -- ]; do
  if [ -L "$1" ]; then mkdir -p "$root\${1%/*}"; ln -s "$(readlink "$1")" "$root$1"; shift; continue; fi
  if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root\${1%/*}"; : > "$root$1"; fi
  mount --bind "$1" "$root$1" 2>/dev/null || mount --rbind "$1" "$root$1"
  mount -o remount,bind,ro,nosuid,nodev "$root$1" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev,noexec "$root$1"
  shift
done
shift
mkdir "$root/proc" "$root/.old"
mount --rbind /proc "$root/proc"
cd "$root"
pivot_root . .old
cd /
umount -l .old
mount -o remount,bind,ro /
umount -l proc
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all prlimit --core=0 --data="$memory" env -i "$@"
`

/** The command that runs `command` in a sandbox. */
export function sandboxed(
  { root, readable, memoryMb }: SandboxOptions,
  command: readonly string[],
): readonly [string, ...string[]] {
  const paths = outermost([...system.filter((each) => existsSync(each)), ...readable])
  const apart = ['--user', '--map-root-user', '--net', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child']
  const build = ['/bin/sh', '-c', script, 'sandbox', root, String(memoryMb * 2 ** 20), ...paths, '--', ...command]
  return ['setpriv', '--pdeathsig', 'KILL', 'unshare', ...apart, ...build]
}

/** Runs inside, with nothing but the walls around it: no permission model helps. Prints what it could do. */
const canaryCode = `
const [port, manager, ...files] = process.argv.slice(1)
const leaks = new Set()
const fs = require('node:fs')
for (const file of files) try { fs.readFileSync(file); leaks.add('files (' + file + ')') } catch {}
try { fs.writeFileSync('/canary', ''); leaks.add('files (/canary)') } catch {}
try { process.kill(Number(manager), 0); leaks.add('signals') } catch {}
require('node:net').connect(Number(port), '127.0.0.1')
  .on('connect', function () { leaks.add('network'); this.destroy() })
  .on('error', () => {})
  .on('close', () => console.log(JSON.stringify([...leaks])))
`

/** What is wrong with a sandbox, in words; nothing when it holds. */
export async function sandboxTrouble(options: SandboxOptions, { port, files }: Canary): Promise<string | undefined> {
  if (process.platform !== 'linux') return `there are no namespaces on ${process.platform}; it needs Linux`
  const canary = [process.execPath, '-e', canaryCode, '--', String(port), String(process.pid), ...files]
  const [program, ...args] = sandboxed(options, canary)
  const { code, output, problem } = await outputOf(program, args, options.tools)
  const leaks = leaksIn(output)
  if (code !== 0 || !leaks) {
    const cause = problem || `exit code ${code}`
    return `no sandbox can be built (${cause}); ${lacksTools.test(cause) ? install : allow}`
  }
  return leaks.length > 0 ? `its walls do not hold: ${leaks.join(', ')}` : undefined
}

/** How it sounds when setpriv or unshare are not there, or are others than those of util-linux. */
const lacksTools = /ENOENT|(?:execute|exec) .*No such file|not found|(?:unrecognized|invalid|unknown) option/i
const install = 'install util-linux'
const allow =
  'allow unprivileged user namespaces here (sysctl, AppArmor, the seccomp profile of a container), or choose the level worker'

function leaksIn(output: string): readonly string[] | undefined {
  try {
    return JSON.parse(output) as readonly string[]
  } catch {
    return undefined
  }
}

async function outputOf(
  program: string,
  args: readonly string[],
  tools: string = systemPath,
): Promise<{ readonly code: number | undefined; readonly output: string; readonly problem: string }> {
  const child = spawn(program, args, { env: { PATH: tools }, stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' })
  let output = ''
  let problem = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (problem += text))
  return await new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: undefined, output, problem: error.message }))
    child.on('close', (code) => resolve({ code: code ?? -1, output, problem: firstLine(problem) }))
  })
}

/** The first that says something. */
function firstLine(text: string): string {
  return text.split('\n').find((line) => /[a-z]/i.test(line)) ?? ''
}

/** Where the tools are. The manager's own PATH is none of a guest's business. */
export const systemPath = '/usr/sbin:/usr/bin:/sbin:/bin'
