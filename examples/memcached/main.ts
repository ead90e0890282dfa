#!/usr/bin/env node
/** The operator as a program: it implements the commands of the contract, and otherwise runs standalone on its cluster. */
import { operatorMain } from '@muster-dev/muster/contract'
import { operator } from './operator.ts'

await operatorMain(operator)
