/** An operator with a coordinator: a harbour, whose ships dock in order of priority as long as there is room at its piers. */
import { ConfigMap } from '../src/kube/kinds.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import type { ObjectOf } from '../src/kube/typed-resource.ts'
import { type Config, type ConfigOf, defineConfig } from '../src/operator/config.ts'
import { defineController } from '../src/operator/controller.ts'
import {
  type Coordinator,
  type CoordinatorChange,
  defineCoordinator,
  isChangeOf,
} from '../src/operator/coordinator/coordinator.ts'
import { boolean, type Field, integer, number, optional } from '../src/operator/kind/field.ts'
import { defineKind, type Kind } from '../src/operator/kind/kind.ts'
import { defineOperator, type Operator } from '../src/operator/operator.ts'
import { labelled } from '../src/operator/view/input.ts'

type ShipSpec = {
  readonly length: Field<number, number, 'required'>
  readonly priority: Field<number, number, 'defaulted'>
  readonly notBefore: Field<number, number, 'optional'>
}
type ShipStatus = {
  readonly isDocked: Field<boolean, boolean, 'optional'>
  readonly ahead: Field<number, number, 'optional'>
}

export const Ship: Kind<ShipSpec, ShipStatus> = defineKind<ShipSpec, ShipStatus>({
  group: 'harbour.example.com',
  version: 'v1',
  kind: 'Ship',
  spec: { length: integer(), priority: integer({ default: 0 }), notBefore: optional(number()) },
  status: { isDocked: optional(boolean()), ahead: optional(integer()) },
})

export interface Docking {
  readonly docks: boolean
  /** Ships that wait and come first. */
  readonly ahead?: number
}

interface KnownShip {
  readonly length: number
  readonly priority: number
  /** Its place among ships of its priority. */
  readonly place: string
  readonly notBefore: number
  readonly isDocked: boolean
}

interface Harbour {
  readonly reserve: number
  readonly ships: Map<string, KnownShip>
  readonly piers: Map<string, number>
  readonly decided: Map<string, Docking>
}

export const harbourConfig: Config<{ readonly reserve: Field<number, number, 'defaulted'> }> = defineConfig({
  reserve: integer({ default: 0, description: 'Room that stays free.' }),
})

type HarbourConfig = ConfigOf<typeof harbourConfig>
export type HarbourCoordinator = Coordinator<Docking, Harbour, HarbourConfig>

/** Observes a coordinator, or makes it fail. */
interface HarbourProbe {
  readonly onTake?: (change: CoordinatorChange) => void
  readonly onDecide?: (now: number) => void
}

export function harbourCoordinator({ onTake, onDecide }: HarbourProbe = {}): HarbourCoordinator {
  return defineCoordinator({
    name: 'harbour',
    reads: [Ship, labelled(ConfigMap, { labels: { pier: 'yes' } })],
    config: harbourConfig,
    start: ({ config: { reserve } }): Harbour => ({
      reserve,
      ships: new Map(),
      piers: new Map(),
      decided: new Map(),
    }),
    take({ ships, piers }, change) {
      onTake?.(change)
      if (isChangeOf(change, Ship)) {
        if (change.object) ships.set(change.object.metadata.uid ?? '', knownShip(change.object))
        else ships.delete(change.before?.metadata.uid ?? '')
      }
      if (isChangeOf(change, ConfigMap)) {
        const { object, before } = change
        if (object) piers.set(object.metadata.name, Number(object.data?.['length'] ?? 0))
        else piers.delete(before?.metadata.name ?? '')
      }
    },
    decide(harbour, now) {
      onDecide?.(now)
      return dock(harbour, now)
    },
  })
}

function knownShip({ metadata, spec, status }: ObjectOf<typeof Ship>): KnownShip {
  return {
    length: spec.length,
    priority: spec.priority,
    place: `${metadata.creationTimestamp} ${metadata.namespace}/${metadata.name}`,
    notBefore: spec.notBefore ?? 0,
    isDocked: status?.isDocked ?? false,
  }
}

function dock({ reserve, ships, piers, decided }: Harbour, now: number): ReturnType<HarbourCoordinator['decide']> {
  const order = [...ships].toSorted(
    ([, a], [, b]) =>
      Number(b.isDocked) - Number(a.isDocked) || b.priority - a.priority || (a.place < b.place ? -1 : 1),
  )
  let room = [...piers.values()].reduce((sum, length) => sum + length, -reserve)
  let ahead = 0
  let again = Infinity
  const changed = new Map<string, Docking | undefined>()
  for (const uid of decided.keys()) if (!ships.has(uid)) changed.set(uid, undefined)
  for (const [uid, { length, notBefore, isDocked }] of order) {
    const isEarly = notBefore > now && !isDocked
    if (isEarly) again = Math.min(again, notBefore)
    const docks = isDocked || (!isEarly && length <= room && ahead === 0)
    if (docks) room -= length
    const docking: Docking = docks ? { docks } : { docks, ahead: isEarly ? 0 : ahead++ }
    const known = decided.get(uid)
    if (known?.docks !== docking.docks || known.ahead !== docking.ahead) changed.set(uid, docking)
  }
  for (const [uid, docking] of changed) {
    if (docking) decided.set(uid, docking)
    else decided.delete(uid)
  }
  return { decisions: changed, again }
}

export function harbourOperator(
  coordinator: HarbourCoordinator = harbourCoordinator(),
  onReconcile: (name: string) => void = () => undefined,
): Operator {
  return defineOperator({
    name: 'harbour',
    config: harbourConfig,
    controllers: [
      defineController({
        for: Ship,
        config: harbourConfig,
        coordinators: [coordinator],
        reconcile({ cr, decision }) {
          onReconcile(cr.metadata.name)
          const docking = decision(coordinator, cr.metadata.uid)
          const isDocked = cr.status?.isDocked === true || docking?.docks === true
          const ahead = isDocked ? undefined : docking?.ahead
          return { status: { isDocked, ...(ahead !== undefined && { ahead }) } }
        },
      }),
    ],
  })
}

export function ship(
  name: string,
  spec: { readonly length: number; readonly priority?: number; readonly notBefore?: number },
): UntypedObject {
  return { apiVersion: 'harbour.example.com/v1', kind: 'Ship', metadata: { name, namespace: 'default' }, spec }
}

export function pier(name: string, length: number): UntypedObject {
  const metadata = { name, namespace: 'default', labels: { pier: 'yes' } }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { length: String(length) } }
}
