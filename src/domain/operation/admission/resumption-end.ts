import { resumptionBounds } from './operation-followups.ts'

/** The facts that decide whether an evacuation is still to be resumed. */
export interface ResumptionFacts {
  readonly machineGone: boolean
  /** A later operation has moved the machine to another host. */
  readonly moved: boolean
  /** The time limit for resumptions is over. */
  readonly tooOld: boolean
  readonly failures: number
}

/** Why an evacuation is not resumed any more; undefined: it still is. */
export const whyResumptionEnds = (facts: ResumptionFacts): string | undefined => {
  if (facts.machineGone) return 'The machine is gone from its target.'
  if (facts.moved) return 'The machine was moved to another host.'
  if (facts.tooOld) return `It could not come back for ${resumptionBounds.days} days.`
  if (facts.failures >= resumptionBounds.failures) return `It has failed ${facts.failures} times in a row.`
  return undefined
}
