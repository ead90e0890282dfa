/**
 * A sandbox for untrusted code: builds namespaces, root file system and limits with the tools of util-linux. The level
 * `process` and the external programs of the operator contract run in it.
 *
 * The root is a tmpfs with the listed files only, read-only. There is no network, no other process, no /sys. The
 * process has another uid, no capabilities and no way to gain any. It ends with the manager.
 *
 * An ordinary user builds it in a user namespace. A manager that is root builds it without one: only then can it change
 * the uid. If it cannot be built or is not effective, `sandboxProblem` names the reason; there is no weaker form of it.
 */
import { spawn } from 'node:child_process'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { withoutInherited } from './inherited-descriptors.ts'
import type { Canary } from '../protocol/protocol.ts'
import { outermost } from './readable.ts'

export interface SandboxOptions {
  /** An empty folder, where the root is mounted. Sandboxes may share it: each has a mount namespace of its own. */
  readonly root: string
  /** Real paths of files and folders that it may read. A socket in such a folder cannot be connected to. */
  readonly readable: readonly string[]
  /** Memory limit of each process, in MiB: heap, buffers, stacks and Node itself. */
  readonly memoryMb: number
  /** PATH of the util-linux tools. @default the system's folders */
  readonly tools?: string | undefined
  /** What programs usually expect: /proc (read-only), /dev, /tmp, certificates. @default false: none of it */
  readonly furnished?: boolean
  /** Working directory. @default / */
  readonly folder?: string
  /** @default empty */
  readonly environment?: Readonly<Record<string, string>>
  /** A folder that it writes to. Its files are copied there once all its processes have ended. */
  readonly output?: string
  /** The target of that copy, if it is another folder. */
  readonly collected?: string
  /** Small files that it gets a copy of, whatever their mode: a kubeconfig. */
  readonly copied?: readonly string[]
  /**
   * Exceptions from what is readable: files that it cannot open, and folders that look empty except for the paths
   * below.
   */
  readonly covered?: readonly string[]
  /** A folder that it may read, wherever that is. */
  readonly input?: string
  /** The only socket of the machine that it can connect to. Loopback is up then. */
  readonly socket?: string
  /** `cgroup.procs` of the control groups that it joins. */
  readonly cgroups?: readonly string[]
}

/** The largest file it may write, and the limit of its whole output. */
export const mostFileBytes: number = 256 * 2 ** 20
/** Concurrent processes and threads. */
export const mostProcesses = 1024

/** For dynamic linking. No secrets are in these folders. */
const system = ['/usr', '/lib', '/lib64', '/bin'] as const
/** Files that runtimes and shells look for. None contains a private key. */
const furniture = [
  '/sbin',
  '/lib32',
  '/libx32',
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/etc/crypto-policies',
  '/etc/ssl/certs',
  '/etc/ssl/cert.pem',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/certs',
  '/etc/pki/tls/cert.pem',
  '/etc/pki/ca-trust/extracted',
  '/etc/ca-certificates/extracted',
] as const
const devices = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'] as const

/** Prefix of its environment variables while the sandbox is built. */
const carried = 'MUSTER_GIVEN_'

/**
 * Run by the shell, as root of a mount namespace: ROOT UID OWNER OUTPUT COLLECTED FOLDER MEMORY (ACTION PATH)… --
 * COMMAND… OWNER: the uid as the builder sees it. A failed action aborts. The script stays PID 1: it ends with the
 * manager, and all other processes with it, whatever their uid. The shell's own messages about signals are discarded,
 * so that the last output is the program's.
 *
 * `r` is the root of the sandbox, entered by chroot: a chrooted process cannot create a user namespace, in which it
 * could mount a tmpfs without a size limit. The mount namespace's own root contains nothing that leads out.
 *
 * A folder is mounted through an overlay: sockets are found by their inode, and an overlay has inodes of its own. So no
 * socket in it can be connected to, not even one that is created later.
 */
const script = `
set -eu
umask 022
root=$1 uid=$2 owner=$3 output=$4 collected=$5 folder=$6 memory=$7; shift 7
mount -t tmpfs -o size=4m,nr_inodes=16k,mode=755,nosuid,nodev tmpfs "$root"
cd "$root"
mkdir r old low none proc output
umask 777
: > covered
umask 022
mount --bind r r
folder_of() { [ -d "r\${1%/*}" ] || mkdir -p "r\${1%/*}"; }
show() {
  if [ -d "$1" ]; then [ -d "r$1" ] || mkdir -p "r$1"
  elif [ ! -e "r$1" ]; then folder_of "$1"; : > "r$1"; fi
}
seal() {
  mount -o remount,bind,ro,nosuid,nodev "$1" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev,noexec "$1"
}
sized() {
  [ -d "r$1" ] || mkdir -p "r$1"
  mount -t tmpfs -o "size=$2,nr_inodes=$3,mode=$4,nosuid,nodev,uid=$owner,gid=$owner" tmpfs "r$1"
}
while [ "$1" != -- ]; do
  case $1 in
  join) echo 0 > "$2" ;;
  link) folder_of "$2"; cp -P "$2" "r$2" ;;
  bind)
    show "$2"
    if mount -o bind,ro,nosuid,nodev "$2" "r$2" 2>/dev/null; then :
    elif mount --bind "$2" "r$2" 2>/dev/null; then seal "r$2"
    else
      mount --rbind "$2" "r$2"
      seal "r$2"
      while read -r _ _ _ _ at _; do
        at=$(printf %b "$at")
        case $at in "$PWD/r$2"/*) seal "$at" ;; esac
      done < /proc/self/mountinfo
    fi ;;
  view)
    mkdir -p "r$2"
    case $2 in
    *[,:\\\\]*)
      mount --bind "$2" low
      mount -t overlay -o ro,nosuid,nodev,lowerdir=low:none overlay "r$2"
      umount low ;;
    *) mount -t overlay -o "ro,nosuid,nodev,lowerdir=$2:none" overlay "r$2" ;;
    esac ;;
  copy)
    show "$2"
    cp "$2" copied
    chown "$owner:$owner" copied
    chmod 400 copied
    mount --bind copied "r$2"
    seal "r$2"
    rm copied ;;
  cover)
    if [ -L "r$2" ]; then :
    elif [ -d "r$2" ]; then mount -t tmpfs -o size=64k,nr_inodes=64,mode=755,nosuid,nodev tmpfs "r$2"
    elif [ -e "r$2" ]; then mount -o bind,ro covered "r$2"; fi ;;
  furnish)
    mkdir -p r/tmp r/dev/shm r/etc r/proc
    sized /tmp 64m 16k 1777
    sized /dev/shm 64m 16k 1777
    echo "program:x:$uid:$uid::/tmp:/bin/sh" > r/etc/passwd
    echo "program:x:$uid:" > r/etc/group
    cp -P /dev/fd /dev/stdin /dev/stdout /dev/stderr r/dev 2>/dev/null || :
    mount -t proc -o ro,nosuid,nodev,noexec proc r/proc 2>/dev/null || : ;;
  device) : > "r$2"; mount --bind "$2" "r$2" ;;
  socket) show "$2"; mount --bind "$2" "r$2"; ip link set lo up ;;
  esac
  shift 2
done
shift
if [ -n "$output" ]; then
  mount --bind "$collected" output
  sized "$output" ${mostFileBytes} 64k 755
fi
[ -d "r$folder" ] || mkdir -p "r$folder"
mount -t proc -o nosuid,nodev,noexec proc proc 2>/dev/null || mount --rbind /proc proc
tools=
for place in usr bin lib lib64; do [ ! -e "r/$place" ] || tools="$tools r/$place"; done
ln -s $tools .
seal r
pivot_root . old
cd /
umount -l old
mount -o remount,bind,ro /
if [ "$uid" = "$owner" ]; then
  apart= become="--reuid=$uid --regid=$uid --clear-groups"
else
  apart="--user --map-user=$uid --map-group=$uid --keep-caps" become=
fi
code=0
{ (
  exec unshare --cgroup $apart --root=/r --wd="$folder" setpriv $become --no-new-privs --bounding-set=-all --inh-caps=-all \\
    --ambient-caps=-all prlimit --core=0 --fsize=${mostFileBytes} --nproc=${mostProcesses} --data="$memory" "$@" \\
    2>&9 9>&-
) || code=$?; } 9>&2 2>&-
kill -KILL -1 2>&- || :
if [ -n "$output" ]; then
  chmod -R ug-s "r$output"
  cp -R -P "r$output/." output
fi
exit $code
`

/**
 * Run by the shell, inside: NAMES COMMAND… Variables are passed under other names: the tools that build the sandbox
 * must not use them (LD_PRELOAD), and arguments can be read by every user of the machine.
 */
const restore = `
names=$1; shift
unset OLDPWD SHLVL
for name in $names; do eval "export $name=\\"\\$${carried}$name\\""; unset "${carried}$name"; done
exec "$@"
`

export interface Sandboxed {
  readonly command: readonly [string, ...string[]]
  /** For the tools that build it. */
  readonly env: Readonly<Record<string, string>>
}

/** The command line that runs `command` in a sandbox. */
export function sandboxed(options: SandboxOptions, command: readonly string[]): Sandboxed {
  const { root, memoryMb, output = '', collected = output, folder = '/', environment = {} } = options
  const isRoot = process.getuid?.() === 0
  const uid = isRoot ? freshUser() : 1000
  const namespaces = ['--net', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child']
  const apart = isRoot ? namespaces : ['--user', '--map-root-user', ...namespaces]
  const facts = [root, uid, isRoot ? uid : 0, output, collected, folder, memoryMb * 2 ** 20].map(String)
  const given = Object.entries(environment)
  const names = given.map(([name]) => name).join(' ')
  const inside =
    names === '' ? ['/usr/bin/env', '-i', ...command] : ['/bin/sh', '-c', restore, 'restore', names, ...command]
  const words = [...facts, ...mountActionsOf(options).flat(), '--', ...inside]
  return {
    command: ['setpriv', '--pdeathsig', 'KILL', 'unshare', ...apart, '/bin/sh', '-c', script, 'sandbox', ...words],
    env: {
      ...Object.fromEntries(given.map(([name, value]) => [`${carried}${name}`, value])),
      PATH: options.tools ?? systemPath,
    },
  }
}

type MountAction = readonly [action: string, path: string]

function mountActionsOf(options: SandboxOptions): readonly MountAction[] {
  const { readable, furnished = false, copied = [], covered = [], input, socket, cgroups = [] } = options
  const given = [...system, ...(furnished ? furniture : [])].filter((each) => existsSync(each))
  const shown = outermost([...given, ...readable])
  const isGiven = (place: string): boolean => given.some((each) => each === place)
  return [
    ...cgroups.map((file): MountAction => ['join', file]),
    ...(furnished ? [['furnish', ''] as const, ...present(devices).map((each): MountAction => ['device', each])] : []),
    ...shown.map((place): MountAction => [mountActionFor(place, isGiven(place)), place]),
    ...covered.map((place): MountAction => ['cover', place]),
    ...(input === undefined ? [] : [['view', input] as const]),
    ...copied.map((file): MountAction => ['copy', file]),
    ...(socket === undefined ? [] : [['socket', socket] as const]),
  ]
}

function present(places: readonly string[]): readonly string[] {
  return places.filter((each) => existsSync(each))
}

/** System folders are bind mounts: they may contain mounts, which an overlay does not show. */
function mountActionFor(place: string, isGiven: boolean): string {
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found?.isSymbolicLink()) return 'link'
  return found?.isDirectory() && !isGiven ? 'view' : 'bind'
}

/** A range without permanent accounts: systemd's dynamic users. */
const [firstUser, users] = [61_184, 4336] as const
let drawn = process.pid

/** Another one for each sandbox: the kernel counts processes, keys and locked memory by uid. */
function freshUser(): number {
  drawn++
  return firstUser + (drawn % users)
}

/** Runs inside the sandbox without the permission model. Prints the actions that succeed. */
export const canaryCode = `
const [port, manager, socket, ...files] = process.argv.slice(1)
const leaks = new Set()
const fs = require('node:fs')
for (const file of files) try { fs.readFileSync(file); leaks.add('files (' + file + ')') } catch {}
for (const place of ['/canary', '/usr/canary', '/proc/canary']) try {
  fs.writeFileSync(place, ''); fs.rmSync(place); leaks.add('files (' + place + ')')
} catch {}
try { fs.writeFileSync('/proc/self/oom_score_adj', '0'); leaks.add('kernel settings') } catch {}
if (fs.existsSync('/sys/kernel')) leaks.add('/sys')
if (process.getuid() === 0) leaks.add('uid 0')
try { process.kill(Number(manager), 0); leaks.add('signals') } catch {}
const reach = (what, how) => new Promise((resolve) => require('node:net').connect(how)
  .on('connect', function () { leaks.add(what); this.destroy() }).on('error', () => {}).on('close', resolve))
reach('network', { port: Number(port), host: '127.0.0.1' })
  .then(() => socket && reach('sockets', { path: socket }))
  .then(() => console.log(JSON.stringify([...leaks])))
`

/** The arguments of the canary. */
export function canaryWords({ port, files, socket = '' }: Canary & { readonly socket?: string }): readonly string[] {
  return [String(port), String(process.pid), socket, ...files]
}

/** Why a sandbox is not effective; undefined when it is. */
export async function sandboxProblem(options: SandboxOptions, canary: Canary): Promise<string | undefined> {
  const lacking = machineProblem()
  if (lacking !== undefined) return lacking
  const words = [process.execPath, '-e', canaryCode, '--', ...canaryWords(canary)]
  const { code, output, problem } = await outputOf(sandboxed(options, words))
  return canaryProblem(output, code === 0 ? '' : problem || `exit code ${code}`)
}

/** Why no sandbox can be built on this machine or by this process. */
export function machineProblem(): string | undefined {
  if (process.platform !== 'linux') return `there are no namespaces on ${process.platform}; it needs Linux`
  if (process.getuid?.() !== 0 || hasSysAdmin()) return undefined
  // In a user namespace it could build a sandbox, but would stay uid 0 in it.
  return 'the manager runs as root without CAP_SYS_ADMIN, and cannot give its uid away; run it as another user'
}

function hasSysAdmin(): boolean {
  try {
    const [, effective = ''] = /^CapEff:\s*([\da-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return ((BigInt(`0x${effective || '0'}`) >> 21n) & 1n) === 1n
  } catch {
    return true
  }
}

/** From the canary's output and failure. */
export function canaryProblem(printed: string, failure: string): string | undefined {
  const leaks = leaksIn(printed)
  if (failure !== '' || !leaks) return `no sandbox can be built (${failure || 'no result'}); ${cureFor(failure)}`
  return leaks.length > 0 ? `the sandbox leaks: ${leaks.join(', ')}` : undefined
}

/** Error messages of the tools, and what to do about them. */
const cures: readonly (readonly [sound: RegExp, cure: string])[] = [
  [/\bip: not found/, 'install iproute2'],
  [/ENOENT|exec(?:ute)? \S+ No such file|not found|(?:unrecognized|invalid|unknown) option/i, 'install util-linux'],
  [/setres[ug]id|setgroups/, 'the manager is root of a user namespace without further uids: run it as another user'],
  [/overlay/i, 'it needs overlayfs, and for an ordinary user Linux 5.11 or later'],
]
const allow =
  'allow unprivileged user namespaces here (sysctl, AppArmor, the seccomp profile of a container), or choose the level worker'

function cureFor(failure: string): string {
  return cures.find(([sound]) => sound.test(failure))?.[1] ?? allow
}

function leaksIn(output: string): readonly string[] | undefined {
  try {
    return JSON.parse(output) as readonly string[]
  } catch {
    return undefined
  }
}

async function outputOf({
  command: [program, ...args],
  env,
}: Sandboxed): Promise<{ readonly code: number | undefined; readonly output: string; readonly problem: string }> {
  const stdio = withoutInherited(['ignore', 'pipe', 'pipe'])
  const child = spawn(program, args, { env, stdio, cwd: '/' })
  let output = ''
  let problem = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (problem += text))
  return await new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: undefined, output, problem: error.message }))
    child.on('close', (code) => resolve({ code: code ?? -1, output, problem: firstLine(problem) }))
  })
}

/** A shell reports a command that was killed by a signal as an exit code. */
export function signalOf(exit: number | null): NodeJS.Signals | undefined {
  const found = Object.entries(constants.signals).find(([, number]) => exit === 128 + number)
  return found?.[0] as NodeJS.Signals | undefined
}

/** The first line that is not empty. */
function firstLine(text: string): string {
  return text.split('\n').find((line) => /[a-z]/i.test(line)) ?? ''
}

/** Where the tools are. */
const systemPath = '/usr/sbin:/usr/bin:/sbin:/bin'
