#!/usr/bin/env node
/** The operator as a program of its own: it answers the commands of the contract, or else runs on its cluster, alone. */
import { operatorMain } from 'muster/contract'
import { operator } from './operator.ts'

await operatorMain(operator)
