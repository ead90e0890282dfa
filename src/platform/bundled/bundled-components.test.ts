import { expect, it } from 'vitest'
import { platformEnvironment } from '../../../test/platform-environment.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import { Component } from '../catalogue/component.ts'
import { ComponentVersion } from '../catalogue/component-version.ts'
import { Installation } from '../installation/installation.ts'
import { bundledComponents } from './bundled-components.ts'

const kinds: readonly TypedResource[] = [Component, ComponentVersion]
const PriorityClass: TypedResource<UntypedObject> = resourceOf('scheduling.k8s.io/v1', 'PriorityClass')
const Notice: TypedResource<UntypedObject> = resourceOf('bundled.platform.muster.dev/v1', 'Notice', {
  plural: 'notices',
  namespaced: false,
})

it('the bundled components are installed together, and removed without a trace but their namespaces', async () => {
  const env = await platformEnvironment()
  for (const object of bundledComponents)
    await env.client.create(
      kinds.find(({ kind }) => kind === object.kind)!,
      object,
    )
  const names = bundledComponents.filter(({ kind }) => kind === 'Component').map(({ metadata }) => metadata.name!)
  await env.declare(names.map((name) => ({ name })))
  const { status } = await env.platform()
  expect(status?.components?.map(({ name, state }) => `${name} ${state}`)).toEqual(names.map((name) => `${name} Ready`))
  expect(await env.client.get(PriorityClass, { name: 'platform-high' })).toMatchObject({ value: 10_000 })
  expect(await env.client.get(Notice, { name: 'welcome' })).toBeDefined()
  await env.change({ components: [] })
  const after = (await env.platform()).status
  expect(after?.state).toBe('Ready')
  expect(after?.components ?? []).toEqual([])
  expect((await env.client.list(Installation)).items).toEqual([])
  await expect(env.client.get(PriorityClass, { name: 'platform-high' })).rejects.toThrow('not found')
})
