/** Installations on which another one depends. */
import { isConditionTrue } from '../../kube/meta/condition.ts'
import { fail, tryLater } from '../../operator/failure.ts'
import type { View } from '../../operator/view/view.ts'
import { Installation, type InstallationObject } from './installation.ts'

/** @throws DependencyMissing, DependencyNotReady, DependencyCircle */
export function waitForDependencies(cr: InstallationObject, view: View): void {
  for (const place of dependenciesOf(cr)) {
    const name = `Installation ${nameOf(place)}`
    const other = view.get(Installation, place)
    if (!other) tryLater('DependencyMissing', `${name}, on which it depends, does not exist.`)
    const { status, metadata } = other
    if (isConditionTrue(status?.conditions, 'Ready') && status?.observedGeneration === metadata.generation) continue
    const circle = circleThrough(cr, other, view)
    if (circle) {
      const names = [...circle, nameOf(cr.metadata)].join(' → ')
      fail('DependencyCircle', `Installations depend on each other: ${names}. Remove one of these dependencies.`)
    }
    tryLater('DependencyNotReady', `${name}, on which it depends, is not ready.`)
  }
}

interface Place {
  readonly name: string
  readonly namespace?: string | undefined
}

function dependenciesOf({ spec, metadata }: InstallationObject): readonly Place[] {
  return spec.dependsOn.map(({ name, namespace = metadata.namespace }) => ({ name, namespace }))
}

/** The way from the Installation over the other one back to it, without the end; undefined if there is none. */
function circleThrough(cr: InstallationObject, other: InstallationObject, view: View): readonly string[] | undefined {
  const goal = nameOf(cr.metadata)
  const start = nameOf(other.metadata)
  if (start === goal) return [goal]
  const ways = new Map([[start, [goal, start]]])
  const open = [other]
  for (let one = open.shift(); one; one = open.shift()) {
    const way = ways.get(nameOf(one.metadata))!
    for (const place of dependenciesOf(one)) {
      const name = nameOf(place)
      if (name === goal) return way
      if (ways.has(name)) continue
      ways.set(name, [...way, name])
      const next = view.get(Installation, place)
      if (next) open.push(next)
    }
  }
  return undefined
}

function nameOf({ name, namespace }: Place): string {
  return `${namespace}/${name}`
}
