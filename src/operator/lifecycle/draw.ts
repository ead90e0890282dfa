/** A life cycle for people: as a Mermaid state diagram, as lines of text, or as a table for documentation. */
import { type Edge, type LifecycleGraph, type LifecycleNode, onward, sideExits } from './graph.ts'

type Drawing = 'mermaid' | 'text' | 'table'

export function drawLifecycle(graph: LifecycleGraph, as: Drawing = 'mermaid'): string {
  return `${drawings[as](graph).join('\n')}\n`
}

const drawings: Readonly<Record<Drawing, (graph: LifecycleGraph) => readonly string[]>> = { mermaid, text, table }

function mermaid({ nodes, start, end }: LifecycleGraph): readonly string[] {
  const all = [...nodes.values()]
  const transient = all.filter(({ leadsTo }) => leadsTo).map(({ name }) => id(name))
  return [
    'stateDiagram-v2',
    ...all.map(({ name, action }) => `  state "${action ? `${name}: ${action.name}` : name}" as ${id(name)}`),
    `  [*] --> ${id(start)}`,
    ...all.flatMap((node) =>
      arrows(node).map(({ to, label }) => `  ${id(node.name)} --> ${id(to)}${label && ` : ${label}`}`),
    ),
    `  ${id(end)} --> [*]`,
    '  classDef transient stroke-dasharray: 4',
    ...(transient.length > 0 ? [`  class ${transient.join(',')} transient`] : []),
  ]
}

/** `end`, `state` and others are reserved by Mermaid. */
function id(name: string): string {
  return `s_${name}`
}

interface Arrow {
  readonly to: string
  readonly label: string
}

function arrows(node: LifecycleNode): readonly Arrow[] {
  const { leadsTo, onFailure } = node
  const arrow = (edge: Edge): Arrow => ({ to: edge.state, label: edge.guard ? 'guarded' : '' })
  if (!leadsTo) {
    const failing = onFailure.goTo === undefined ? [] : [{ to: onFailure.goTo, label: 'failed' }]
    return [...node.to.map(arrow), ...failing]
  }
  const done = { to: leadsTo.state, label: leadsTo.guard ? 'done, guarded' : 'done' }
  return [done, ...sideExits(node).map(({ state }) => ({ to: state, label: 'failed' }))]
}

function text({ name, nodes, start, end, desiredStates, defaultState }: LifecycleGraph): readonly string[] {
  const width = Math.max(...[...nodes.keys()].map((state) => state.length))
  const lines = [...nodes.values()].map((node) => {
    const ways = arrows(node).map(({ to, label }) => (label ? `${to} (${label})` : to))
    const mark = node.name === start ? '*' : node.name === end ? '.' : ' '
    const arrow = node.leadsTo ? '=>' : '->'
    return `${mark} ${node.name.padEnd(width)} ${arrow} ${ways.join(', ') || 'nowhere'}`
  })
  const desired = desiredStates.map((state) => (state === defaultState ? `${state} (default)` : state)).join(', ')
  return [`${name}: * start, . end, => transient`, ...lines, `desired states: ${desired}`]
}

function table({ nodes, start, end, desiredStates }: LifecycleGraph): readonly string[] {
  const rows = [...nodes.values()].map((node) => {
    const { name, action, timeoutMs, onFailure, description } = node
    const marks = [name === start && 'start', name === end && 'end', desiredStates.includes(name) && 'can be requested']
    const kind = [node.leadsTo ? 'transient' : 'stable', ...marks].filter(Boolean).join(', ')
    const ways = onward(node).map(({ state, guard }) => (guard ? `${state} (guarded)` : state))
    const failing = action || node.leadsTo ? failureText(onFailure) : ''
    return [name, kind, action?.name ?? '', ways.join(', '), `${timeoutMs / 1000} s`, failing, description]
  })
  const head = ['state', 'kind', 'action', 'leads to', 'time-out', 'on failure', 'description']
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)]
}

function failureText({ retries, goTo }: LifecycleNode['onFailure']): string {
  const tries = retries === 0 ? '' : `${retries} more ${retries === 1 ? 'try' : 'tries'}, then `
  return tries + (goTo === undefined ? 'waits for a change' : `to ${goTo}`)
}
