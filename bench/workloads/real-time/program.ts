/** The measured process: a manager with the workloads operator. */
import { workloadsOperator } from '../../../src/workloads/workloads-operator.ts'
import { runMeasuredManager } from '../../measured-manager.ts'

await runMeasuredManager(workloadsOperator)
