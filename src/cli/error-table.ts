/**
 * Every error that Muster raises: the tables of all layers. `docs/errors.md` is generated from it.
 */
import { apiserverErrors } from '../apiserver/errors.ts'
import { cacheErrors } from '../cache/errors.ts'
import { clientErrors } from '../client/errors.ts'
import { contractErrors } from '../contract/errors.ts'
import { kubeErrors } from '../kube/errors.ts'
import type { ErrorDefinition } from '../kube/muster-error.ts'
import { flagErrors } from '../manager/alone/flag-errors.ts'
import { managerErrors } from '../manager/errors.ts'
import { operatorErrors } from '../operator/errors.ts'
import { platformErrors } from '../platform/errors.ts'
import { renderErrors } from '../render/errors.ts'
import { kustomizeErrors } from '../render/kustomize/errors.ts'
import { sidecarErrors } from '../sidecar/errors.ts'
import { simulateErrors } from '../simulate/errors.ts'
import { systemErrors } from '../system/errors.ts'
import { transportErrors } from '../transport/errors.ts'
import { workloadErrors } from '../workloads/errors.ts'
import { cliErrors } from './errors.ts'

/** By code. */
export const errorTable: readonly ErrorDefinition[] = [
  kubeErrors,
  systemErrors,
  transportErrors,
  apiserverErrors,
  clientErrors,
  cacheErrors,
  sidecarErrors,
  operatorErrors,
  managerErrors,
  flagErrors,
  contractErrors,
  simulateErrors,
  renderErrors,
  kustomizeErrors,
  platformErrors,
  workloadErrors,
  cliErrors,
]
  .flatMap((table) => Object.values<ErrorDefinition>(table))
  .toSorted((one, other) => one.code.localeCompare(other.code))
