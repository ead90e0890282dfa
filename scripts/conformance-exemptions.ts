/** Conformance tests that simulated workloads cannot answer, and why. Whatever is not listed here must pass. */
import type { ConformanceTest } from './conformance-suite.ts'

export function exemptionOf(test: ConformanceTest): string | undefined {
  return exemptions.find(([, pattern]) => pattern.test(`${test.file}: ${test.name}`))?.[0]
}

const exemptions: readonly (readonly [reason: string, pattern: RegExp])[] = []
