import { sameAt } from '../../../test/levels.ts'

// The level process: test/real/isolation.test.ts, for it asks something of the machine.
sameAt(['inline', 'worker'])
