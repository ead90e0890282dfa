/** Loops over lists and maps: the run-time part of the macros. */
import { CelRuntimeError, noSuchOverload } from '../value/error.ts'
import { type Closure, type EvaluationFrame, absorbed, pay } from './frame.ts'
import { goTypeOf, showValue } from '../value/show.ts'
import { spendSteps } from '../value/steps.ts'
import { CelList, CelMap, CelPairs, type CelValue } from '../value/value.ts'

/** Visits until `visit` returns false. */
type Loop = (frame: EvaluationFrame, visit: () => boolean) => void

export function overElements(range: Closure, slot: number): Loop {
  return (frame, visit) => {
    const value = range(frame)
    const elements = value instanceof CelList ? value : value instanceof CelMap ? value.keys() : undefined
    if (!elements) throw new CelRuntimeError(`got '${goTypeOf(value)}', expected iterable type`)
    for (const element of elements) {
      spendSteps(1)
      frame.values[slot] = element
      if (!visit()) return
    }
  }
}

export function overPairs(range: Closure, first: number, second: number): Loop {
  return (frame, visit) => {
    const value = range(frame)
    if (value instanceof CelList) {
      for (let index = 0; index < value.size; index++) {
        spendSteps(1)
        frame.values[first] = index
        frame.values[second] = value.at(index)
        if (!visit()) return
      }
    } else if (value instanceof CelMap) {
      for (const key of value.keys()) {
        spendSteps(1)
        frame.values[first] = key
        frame.values[second] = value.find(key)!
        if (!visit()) return
      }
    } else throw new CelRuntimeError(`unsupported comprehension range type: ${goTypeOf(value)}`)
  }
}

/** Whether the loop includes this element. */
export function passes(filter: Closure | undefined, frame: EvaluationFrame): boolean {
  if (!filter) return true
  const value = filter(frame)
  if (typeof value !== 'boolean') throw noSuchOverload()
  return value
}

/** `all` and `exists`: an error of one element is ignored if another decides. */
export function quantifier(loop: Loop, body: Closure, decides: boolean, cost: number): Closure {
  return (frame) => {
    let failure: CelRuntimeError | undefined
    let isDecided = false
    loop(frame, () => {
      pay(frame, cost)
      try {
        const value = body(frame)
        if (value === decides) isDecided = true
        else if (typeof value !== 'boolean') failure ??= noSuchOverload()
      } catch (error) {
        failure ??= absorbed(error)
      }
      return !isDecided
    })
    pay(frame, 1)
    if (isDecided) return decides
    if (failure) throw failure
    return !decides
  }
}

/** `transformMap` and `transformMapEntry`: keys must be unique. */
export function mapInsertion(
  macro: 'mapInsert' | 'mapInsertEntry',
  loop: Loop,
  filter: Closure | undefined,
  body: Closure,
  keySlot: number,
): Closure {
  return (frame) => {
    const pairs = new CelPairs()
    const insert = (key: CelValue, value: CelValue): void => {
      if (!pairs.add(key, value)) throw new CelRuntimeError(`insert failed: key ${showValue(key)} already exists`)
    }
    loop(frame, () => {
      if (!passes(filter, frame)) return true
      const value = body(frame)
      pay(frame, 2)
      if (macro === 'mapInsert') insert(frame.values[keySlot]!, value)
      else if (value instanceof CelMap) for (const key of value.keys()) insert(key, value.find(key)!)
      else throw noSuchOverload()
      return true
    })
    pay(frame, 1)
    return pairs.finish()
  }
}
