import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ControlGroup, openControlGroup } from './control-group.ts'

/** Machines by the files that a kernel would show. What is written to a group that is made there stays as it was written. */
interface Tree {
  readonly mount: string
  file(this: void, name: string, text?: string): void
  read(this: void, name: string): string
}

function tree(): Tree {
  const mount = mkdtempSync(path.join(tmpdir(), 'muster-cgroup-'))
  onTestFinished(() => rmSync(mount, { recursive: true, force: true }))
  return {
    mount,
    file(name, text = '') {
      mkdirSync(path.dirname(path.join(mount, name)), { recursive: true })
      writeFileSync(path.join(mount, name), text)
    },
    read: (name) => readFileSync(path.join(mount, name), 'utf8'),
  }
}

const limits = { memoryBytes: 2 ** 28, processes: 100 }
const open = (mount: string, own: string): ControlGroup | undefined => openControlGroup(limits, { mount, own })

describe.skipIf(process.platform !== 'linux')('a control group', () => {
  it('cannot be created where there is none, or none that is delegated', () => {
    const { mount, file } = tree()
    expect(open(mount, '')).toBeUndefined()
    expect(open(mount, '4:memory:/elsewhere\n')).toBeUndefined()
    file('cgroup.controllers', 'cpu memory pids')
    file('system.slice/muster.service/cgroup.procs')
    // The controller is not handed on, neither here nor above: no file says that it is.
    mkdirSync(path.join(mount, 'system.slice/muster.service/cgroup.subtree_control'))
    mkdirSync(path.join(mount, 'system.slice/cgroup.subtree_control'))
    file('system.slice/cgroup.procs')
    expect(open(mount, '0::/system.slice/muster.service\n')).toBeUndefined()
    expect(readdirSync(path.join(mount, 'system.slice')).toSorted()).toEqual([
      'cgroup.procs',
      'cgroup.subtree_control',
      'muster.service',
    ])
  })

  it("of version 2 is created beside the manager's own, in a delegated unit", () => {
    const { mount, file, read } = tree()
    file('cgroup.controllers', 'cpu memory pids')
    file('muster.service/cgroup.procs')
    file('muster.service/cgroup.subtree_control', 'memory pids')
    file('muster.service/manager/cgroup.procs')
    // Of the processes in it, so that it cannot be divided.
    mkdirSync(path.join(mount, 'muster.service/manager/cgroup.subtree_control'))
    const group = open(mount, '0::/muster.service/manager\n')!
    const [join = ''] = group.joins
    const own = path.relative(mount, path.dirname(join))
    expect(own).toMatch(/^muster\.service\/muster-\d+-\d+$/)
    const names = ['memory.max', 'memory.swap.max', 'memory.oom.group', 'pids.max']
    expect(names.map((name) => read(`${own}/${name}`))).toEqual([String(limits.memoryBytes), '0', '1', '100'])
    expect(group.ranOut()).toBe(false)
    file(`${own}/memory.events`, 'low 0\noom 1\noom_kill 1\noom_group_kill 1\n')
    expect(group.ranOut()).toBe(true)
  })

  it("of version 1 is created below the manager's own, one for each controller", () => {
    const { mount, file, read } = tree()
    file('memory/job/cgroup.procs')
    file('pids/cgroup.procs')
    const group = open(mount, '8:pids:/\n4:memory:/job\n0::/\n')!
    const [memory = '', pids = ''] = group.joins.map((join) => path.relative(mount, path.dirname(join)))
    expect(read(`${memory}/memory.limit_in_bytes`)).toBe(String(limits.memoryBytes))
    expect(read(`${pids}/pids.max`)).toBe('100')
    expect([path.dirname(memory), path.dirname(pids)]).toEqual(['memory/job', 'pids'])
    file(`${memory}/memory.oom_control`, 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n')
    expect(group.ranOut()).toBe(true)
  })

  const real = openControlGroup(limits)
  real?.remove()

  it.runIf(real)('created on this machine is joined through its files, reports no problem, and is removed', () => {
    const group = openControlGroup(limits)!
    const folders = group.joins.map((file) => path.dirname(file))
    expect(folders.length).toBeGreaterThan(0)
    expect(group.joins.map((file) => path.basename(file))).toEqual(folders.map(() => 'cgroup.procs'))
    const told = ['memory.max', 'memory.limit_in_bytes'].map((name) => path.join(folders[0]!, name))
    expect(
      readFileSync(
        told.find((file) => existsSync(file))!,
        'utf8',
      ).trim(),
    ).toBe(String(limits.memoryBytes))
    expect(group.ranOut()).toBe(false)
    group.remove()
    expect(folders.map((folder) => existsSync(folder))).toEqual(folders.map(() => false))
  })
})
