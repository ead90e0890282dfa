/**
 * A hostile program: it tries, one after the other, actions that must be impossible in a sandbox, and prints those that
 * succeeded. SITUATION contains the facts about the machine, so that no attempt fails only because of a wrong path.
 *
 * A successful attempt returns a true value. `DEEDS=control` runs only those that are harmless without a sandbox.
 */
const { spawn, spawnSync } = require('node:child_process')
const dgram = require('node:dgram')
const fs = require('node:fs')
const net = require('node:net')
const path = require('node:path')

const told = JSON.parse(process.env.SITUATION)
const isControl = process.env.DEEDS === 'control'
const [readable, input] = [told.readable, told.input]
const startedAt = Date.now()

const run = (command, ...words) => {
  const { status, error } = spawnSync(command, words, { timeout: 20_000 })
  return !error && status === 0
}
const holds = (place, text) => fs.readFileSync(place, 'utf8').includes(text)
const lists = (folder) => fs.readdirSync(folder).length > 0
const write = (place) => {
  fs.writeFileSync(place, 'hostile', { flag: 'a' })
  return true
}
const answers = (where) =>
  new Promise((resolve) => {
    const socket = net.connect(where)
    socket.setTimeout(5000, () => socket.destroy())
    socket.on('data', (text) => resolve(String(text).includes('hello')))
    socket.on('error', () => resolve(false)).on('close', () => resolve(false))
  })
/** The available size in MiB. */
const fills = (place, mostMb) => {
  const chunk = Buffer.alloc(2 ** 20)
  let written = 0
  const files = []
  try {
    for (; written <= mostMb; written++) {
      if (written % 128 === 0) files.push(fs.openSync(`${place}/fill-${written}`, 'w'))
      fs.writeSync(files.at(-1), chunk)
    }
    return true
  } catch {
    return false
  } finally {
    for (const file of files) fs.closeSync(file)
    for (const name of fs.readdirSync(place)) if (name.startsWith('fill-')) fs.rmSync(`${place}/${name}`)
  }
}

/** [what, how, whether it is harmless and possible without a sandbox] */
const deeds = [
  // ── files: change ────────────────────────────────────────────────────────────────────────────────────────────────
  ['write below /', () => write('/hostile')],
  ['write below /usr', () => write('/usr/hostile')],
  ['write below /usr/bin', () => write('/usr/bin/hostile')],
  ['write below /etc', () => write('/etc/hostile')],
  ['write below /lib', () => write('/lib/hostile')],
  ['write below /dev', () => write('/dev/hostile')],
  ['write below /proc', () => write('/proc/hostile')],
  ['write below /var', () => fs.mkdirSync('/var/hostile', { recursive: true })],
  ['write below /root', () => fs.mkdirSync('/root/hostile', { recursive: true })],
  ['make a folder below /', () => fs.mkdirSync('/hostile-folder') === undefined],
  ['write to the home of the manager', () => write(`${told.home}/hostile`), true],
  ['replace a script of the home', () => write(`${told.home}/.profile`), true],
  ['write to the folder that it may read', () => write(`${readable}/hostile`), true],
  ['remove from the folder that it may read', () => fs.rmSync(`${readable}/removable`) === undefined, true],
  [
    'rename in the folder that it may read',
    () => fs.renameSync(`${readable}/plain`, `${readable}/other`) === undefined,
  ],
  ['change the mode of what it may read', () => fs.chmodSync(`${readable}/plain`, 0o777) === undefined],
  ['change the time of what it may read', () => fs.utimesSync(`${readable}/plain`, 1, 1) === undefined],
  [
    'link what it may read to where it may write',
    () => fs.linkSync(`${readable}/plain`, '/tmp/hostile-link') === undefined,
  ],
  ['change its input', () => write(`${input}/a.yaml`), true],
  ['add to its input', () => write(`${input}/b.yaml`), true],
  ['remove its input', () => fs.rmSync(`${input}/a.yaml`) === undefined],
  ['change its own file', () => write(__filename)],
  ['write to the folders of programs', () => write(`${told.programs}/hostile`), true],
  ['change /dev/null', () => fs.chmodSync('/dev/null', 0o600) === undefined],
  ['make a device', () => run('mknod', '/tmp/hostile-device', 'b', '8', '0')],
  ['make a device of memory', () => run('mknod', '/tmp/hostile-memory', 'c', '1', '1')],
  // ── the kernel ───────────────────────────────────────────────────────────────────────────────────────────────────
  ['set the pattern of core files', () => write('/proc/sys/kernel/core_pattern')],
  ['set the name of the machine by /proc', () => write('/proc/sys/kernel/hostname')],
  ['set the range of pids', () => write('/proc/sys/kernel/pid_max')],
  ['set how memory is overcommitted', () => write('/proc/sys/vm/overcommit_memory')],
  ['press sysrq', () => fs.writeFileSync('/proc/sysrq-trigger', 'h') === undefined],
  ['set its own out-of-memory score', () => fs.writeFileSync('/proc/self/oom_score_adj', '500') === undefined],
  ['write its memory by /proc', () => fs.openSync('/proc/self/mem', 'r+') > 0],
  ['see /sys', () => lists('/sys')],
  ['see control groups', () => lists('/sys/fs/cgroup')],
  ['see firmware', () => lists('/sys/firmware')],
  ['read the memory of the kernel', () => fs.openSync('/proc/kcore', 'r') > 0],
  ['open the memory of the machine', () => fs.openSync('/dev/mem', 'r') > 0],
  ['open the log of the kernel', () => fs.openSync('/dev/kmsg', 'r') > 0],
  ['open a disk', () => fs.readdirSync('/dev').some((name) => /^(?:[shv]d|nvme|dm-|loop)/.test(name))],
  ['open a terminal', () => fs.openSync('/dev/tty', 'r+') > 0],
  ['name the machine', () => run('hostname', 'hostile')],
  // ── files: read ──────────────────────────────────────────────────────────────────────────────────────────────────
  ['list the home of the manager', () => fs.readdirSync(told.home).includes('.kube'), true],
  ['read the usual kubeconfig', () => holds(`${told.home}/.kube/config`, told.secret), true],
  ['read the cache of an exec plugin', () => holds(`${told.home}/.kube/cache/token`, told.secret), true],
  ['read a token file', () => holds(`${told.home}/token`, told.secret), true],
  ['read a client key', () => holds(`${told.home}/client.key`, told.secret), true],
  ['read the kubeconfig of KUBECONFIG', () => holds(`${readable}/cluster.kubeconfig`, told.secret), true],
  ['read .muster of the project', () => holds(`${readable}/.muster/kubeconfig`, told.secret), true],
  ['read the configuration', () => holds(`${readable}/muster.yaml`, told.secret), true],
  ['read what lies beside its file', () => holds(`${told.beside}`, told.secret), true],
  ['read the folder of another program', () => holds(`${told.other}/user-workload.kubeconfig`, told.secret), true],
  ['list the folders of programs', () => fs.readdirSync(told.programs).some((name) => name.startsWith('other-')), true],
  ['list the temporary folder of the machine', () => fs.existsSync(`${told.temporary}/other-file`), true],
  [
    'read through the links of a way up',
    () => holds(`/proc/self/cwd/../../../../../../../..${told.home}/token`, told.secret),
  ],
  [
    'read through a link of its own',
    () => {
      fs.symlinkSync(`${told.home}/token`, '/tmp/hostile-token')
      return holds('/tmp/hostile-token', told.secret)
    },
  ],
  ['read password hashes', () => holds('/etc/shadow', ':')],
  ['read accounts of the machine', () => holds('/etc/passwd', 'root:')],
  ['read private keys of the machine', () => lists('/etc/ssl/private')],
  ['read logs', () => lists('/var/log')],
  ['list /run', () => lists('/run')],
  ['list service account tokens', () => lists('/var/run/secrets')],
  ['read the environment of the manager', () => holds(`/proc/${told.manager}/environ`, told.secret), true],
  ['read the words of the manager', () => holds(`/proc/${told.manager}/cmdline`, 'node'), true],
  ['see processes of the machine', () => fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length > 20],
  ['enter the root of the first process', () => lists('/proc/1/root/')],
  ['enter the folder of the first process', () => lists('/proc/1/cwd/')],
  ['open descriptors of the first process', () => process.pid !== 1 && fs.readlinkSync('/proc/1/fd/1')],
  ['read the environment of the first process', () => process.pid !== 1 && holds('/proc/1/environ', '')],
  ['read the memory of the first process', () => process.pid !== 1 && fs.openSync('/proc/1/mem', 'r') > 0],
  ['read an inherited descriptor', () => fs.readFileSync(told.descriptor, 'utf8').includes(told.secret)],
  [
    'find another descriptor of the manager',
    () => {
      const open = fs.readdirSync('/proc/self/fd').map((fd) => {
        try {
          return fs.readlinkSync(`/proc/self/fd/${fd}`)
        } catch {
          return ''
        }
      })
      return open.some((each) => each.startsWith(told.temporary) || each.includes(told.secret))
    },
  ],
  ['read a secret of the environment', () => JSON.stringify({ ...process.env, SITUATION: '' }).includes(told.secret)],
  // ── sockets ──────────────────────────────────────────────────────────────────────────────────────────────────────
  ['connect to loopback', () => answers({ port: told.port, host: '127.0.0.1' }), true],
  ['connect to loopback by IPv6', () => answers({ port: told.port, host: '::1' })],
  [
    'connect to an address of the machine',
    async () => {
      for (const host of told.addresses) if (await answers({ port: told.port, host })) return true
      return false
    },
  ],
  [
    'send a datagram',
    () =>
      new Promise((resolve) => {
        const socket = dgram.createSocket('udp4')
        socket.on('message', () => {
          socket.close()
          resolve(true)
        })
        const give = () => {
          try {
            socket.close()
          } catch {}
          resolve(false)
        }
        socket.on('error', give)
        setTimeout(give, 1000).unref()
        socket.send('hello', told.datagrams, '127.0.0.1', (error) => error && give())
      }),
    true,
  ],
  ['connect to an abstract socket', () => answers({ path: `\0${told.abstract}` }), true],
  ['connect to a socket by its path', () => answers({ path: `${told.other}/egress.sock` }), true],
  [
    'connect to a socket by a link',
    () => {
      fs.symlinkSync(`${told.other}/egress.sock`, '/tmp/hostile-socket')
      return answers({ path: '/tmp/hostile-socket' })
    },
  ],
  ['connect to a socket by the root of a process', () => answers({ path: `/proc/1/root${told.other}/egress.sock` })],
  [
    'connect to a socket by the way up',
    () => answers({ path: `/proc/self/cwd/../../../../../..${told.other}/egress.sock` }),
  ],
  ['connect to a socket in the folder that it may read', () => answers({ path: `${readable}/early.sock` }), true],
  [
    'connect to that socket by a relative name',
    () => {
      process.chdir(readable)
      return answers({ path: './early.sock' })
    },
    true,
  ],
  [
    'connect to that socket by a hard link',
    () => {
      fs.linkSync(`${readable}/early.sock`, '/tmp/hostile-hard-socket')
      return answers({ path: '/tmp/hostile-hard-socket' })
    },
  ],
  [
    'connect to a socket that is made later',
    async () => {
      // The machine keeps creating sockets: waits for one that is younger than this process.
      for (let tries = 0; tries < 400; tries++) {
        const late = fs.readdirSync(readable).filter((name) => name.startsWith('late-'))
        const younger = late.filter((name) => Number(name.slice(5, -5)) > startedAt)
        if (younger.length > 0) return answers({ path: `${readable}/${younger.at(-1)}` })
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
      // None was created: that proves nothing, so it counts as a success.
      return true
    },
    true,
  ],
  [
    'talk through a pipe in the folder that it may read',
    () => {
      // Opened for reading and writing, a pipe waits for no reader; the surrounding process reports whether the machine
      // can read it.
      const pipe = fs.openSync(`${readable}/pipe`, 'r+')
      fs.writeSync(pipe, 'hostile')
      return isControl
    },
    true,
  ],
  ['connect to Docker', () => answers({ path: '/var/run/docker.sock' })],
  ['connect to the message bus', () => answers({ path: '/run/dbus/system_bus_socket' })],
  ['make a network interface', () => run('ip', 'link', 'add', 'hostile', 'type', 'dummy')],
  // ── privileges ───────────────────────────────────────────────────────────────────────────────────────────────────
  ['be root', () => process.getuid() === 0 || process.geteuid() === 0],
  ['have a group of the machine', () => process.getgroups().includes(0) || process.getgid() === 0],
  ['become root', () => process.setuid(0) === undefined],
  ['become root by its group', () => process.setgid(0) === undefined],
  ['become another user', () => process.setuid(65_533) === undefined],
  [
    'have capabilities',
    () => /^Cap(?:Prm|Eff|Bnd|Amb):\s*0*[1-9a-f]/m.test(fs.readFileSync('/proc/self/status', 'utf8')),
  ],
  ['gain privileges by a file', () => !/^NoNewPrivs:\s*1$/m.test(fs.readFileSync('/proc/self/status', 'utf8'))],
  ['make a user namespace', () => run('unshare', '--user', 'true')],
  ['make a user namespace as root', () => run('unshare', '--user', '--map-root-user', '--mount', 'true')],
  ['make a mount namespace', () => run('unshare', '--mount', 'true')],
  ['make a network namespace', () => run('unshare', '--net', 'true')],
  ['enter namespaces of the first process', () => run('nsenter', '--target', '1', '--mount', '--net', 'true')],
  ['mount a tmpfs without a size', () => run('mount', '-t', 'tmpfs', 'tmpfs', '/tmp')],
  ['mount /proc', () => run('mount', '-t', 'proc', 'proc', '/tmp')],
  ['mount / to be written', () => run('mount', '-o', 'remount,rw', '/')],
  ['mount /usr to be written', () => run('mount', '-o', 'remount,bind,rw', '/usr')],
  ['unmount /proc', () => run('umount', '-l', '/proc')],
  ['unmount what it may read', () => run('umount', '-l', readable)],
  ['change the root', () => run('chroot', '/tmp', '/bin/true') || run('chroot', '/', '/bin/true')],
  ['pivot the root', () => run('pivot_root', '/', '/tmp')],
  ['raise its limit of processes', () => run('prlimit', '--nproc=100000', 'true')],
  ['raise its limit of memory', () => run('prlimit', '--data=unlimited', 'true')],
  ['take precedence', () => run('nice', '-n', '-5', 'sh', '-c', '[ "$(nice)" -lt 0 ]')],
  ['signal the manager', () => process.kill(told.manager, 0), true],
  ['signal the group of the manager', () => process.kill(-told.manager, 0)],
  [
    'end the first process',
    // That would end this process and its report, too.
    () => process.pid !== 1 && process.kill(1, 'SIGKILL') && false,
  ],
  // ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────
  ['fill /tmp', () => fills('/tmp', 96)],
  ['fill /dev/shm', () => fills('/dev/shm', 96)],
  ['fill its output', () => (told.output ? fills(told.output, 300) : false)],
  [
    'write a file without an end',
    () => !/^Max file size\s+268435456\s+268435456\s/m.test(fs.readFileSync('/proc/self/limits', 'utf8')),
  ],
  ['leave a core file', () => !/^Max core file size\s+0\s+0\s/m.test(fs.readFileSync('/proc/self/limits', 'utf8'))],
  [
    'have processes without an end',
    () => !/^Max processes\s+1024\s+1024\s/m.test(fs.readFileSync('/proc/self/limits', 'utf8')),
  ],
  [
    'take memory without an end',
    () => run(process.execPath, '-e', 'const all = []; while (all.length < 20) all.push(Buffer.alloc(1e8, 1))'),
  ],
]

async function main() {
  if (process.argv.includes('--leave-a-process')) {
    spawn('/bin/sh', ['-c', `sleep 1000; : ${told.mark}`], { detached: true }).unref()
  }
  const done = []
  const chosen = deeds.filter(([, , isHarmless]) => !isControl || isHarmless)
  for (const [what, how] of chosen) {
    try {
      if (await how()) done.push(what)
    } catch {
      // Refused.
    }
  }
  if (told.output) {
    fs.symlinkSync(`${told.home}/token`, `${told.output}/link`)
    fs.writeFileSync(`${told.output}/setuid`, '#!/bin/sh\n', { mode: 0o755 })
    fs.chmodSync(`${told.output}/setuid`, 0o6755)
    fs.writeFileSync(path.join(told.output, 'result'), 'written')
  }
  console.log(JSON.stringify({ tried: chosen.length, done }))
  process.exit(0)
}
void main()
