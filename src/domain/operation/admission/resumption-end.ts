import { resumptionBounds } from './operation-followups.ts'

/** What is known of an evacuation's wish that may be over. */
export interface ResumptionFacts {
  readonly machineGone: boolean
  /** An operation has moved the machine to another host. */
  readonly moved: boolean
  /** It has stood for as long as it may. */
  readonly tooOld: boolean
  readonly failures: number
}

/** Why a wish ends; undefined: it does not. */
export const whyResumptionEnds = (facts: ResumptionFacts): string | undefined => {
  if (facts.machineGone) return 'The machine is gone from its target.'
  if (facts.moved) return 'The machine was moved to another host.'
  if (facts.tooOld) return `It could not come back for ${resumptionBounds.days} days.`
  if (facts.failures >= resumptionBounds.failures) return `It has failed ${facts.failures} times in a row.`
  return undefined
}
