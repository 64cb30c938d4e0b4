import { houseMutants } from './house.ts'
import { journeyMutants } from './journeys.ts'
import { ledgerMutants } from './ledger.ts'
import type { Mutant } from './mutant.ts'

/** Every way in which the code is broken on purpose. */
export const mutants: readonly Mutant[] = [...ledgerMutants, ...journeyMutants, ...houseMutants]
