import { expect, it } from 'vitest'
import { crdSchemaCauses } from './schema-check.ts'

it('reports every error of a schema, even more than a call accepts arguments', () => {
  const count = 150_000
  const properties = Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, { type: 'x' }]))
  const causes = crdSchemaCauses({ type: 'object', properties }, 'schema', true)
  expect(causes.length).toBe(count)
  expect(causes.at(-1)?.field).toBe(`schema.properties[a${count - 1}].type`)
})
