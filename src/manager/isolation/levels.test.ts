import { expectSameAt } from '../../../test/isolation-levels.ts'

// The level process: test/real/isolation.test.ts, for it asks something of the machine.
expectSameAt(['inline', 'worker'])
