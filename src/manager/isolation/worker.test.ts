import { containment } from '../../../test/isolated.ts'

containment('worker', {
  deeds: [
    ['fills buffers, which no engine limits', 'buffers', 'OperatorCrashed', /holds \d+ MiB in buffers; 48 are allowed/],
    ['wants wave after wave', 'waves', 'GuestMisbehaved', /wave 65 of one reconcile/],
    ['reads without an end', 'reads', 'GuestMisbehaved', /more than 500 times/],
  ],
})
