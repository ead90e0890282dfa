import { applyRecorder } from './apply.ts'
import { celRecorder } from './cel.ts'
import { nameRecorder } from './names.ts'
import { jsonPatchRecorder, mergePatchRecorder, patchedObjectRecorder, strategicPatchRecorder } from './patches.ts'
import { protobufRecorder } from './protobuf.ts'
import {
  quantityArithmeticRecorder,
  quantityOrderRecorder,
  quantityRecorder,
  quantityTotalRecorder,
} from './quantities.ts'
import type { Recorder } from './recorder.ts'
import { fieldSelectorRecorder, labelSelectorRecorder } from './selectors.ts'
import { yamlOutputRecorder, yamlRecorder } from './yaml.ts'

/** Every set of vectors. */
export const recorders: readonly Recorder[] = [
  quantityRecorder,
  quantityOrderRecorder,
  quantityArithmeticRecorder,
  quantityTotalRecorder,
  labelSelectorRecorder,
  fieldSelectorRecorder,
  nameRecorder,
  yamlRecorder,
  yamlOutputRecorder,
  patchedObjectRecorder,
  jsonPatchRecorder,
  mergePatchRecorder,
  strategicPatchRecorder,
  applyRecorder,
  celRecorder,
  protobufRecorder,
]
