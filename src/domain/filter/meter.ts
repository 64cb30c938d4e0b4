/**
 * Steps that one evaluation may take on one thing. A step is some 20 nanoseconds, so this is about a millisecond: the
 * API answers everybody from one thread, and what is shorter than that nobody notices.
 */
export const maxSteps = 50_000

/** The evaluation has had its steps. */
export class TooManySteps extends Error {
  constructor() {
    super('The filter would take too long on this one: it goes through too large lists or texts.')
    this.name = 'TooManySteps'
  }
}

/** Made once: a list whose every item fails must not cost a stack trace for each. */
const tooMany = new TooManySteps()

/** Evaluation is synchronous, so there is only one at a time. */
let spent = 0
let spentBefore = 0

/** Pays for what is about to be done. Throws {@link TooManySteps} where it cannot be paid, and from then on always. */
export const spend = (steps: number): void => {
  spent += steps
  if (spent <= maxSteps) return
  // What cannot be paid is not done.
  spent = maxSteps + 1
  throw tooMany
}

/** One evaluation, with a budget of its own. What was caught inside on its way out is thrown all the same. */
export const metered = <T>(work: () => T): T => {
  spentBefore += spent
  spent = 0
  const value = work()
  if (spent > maxSteps) throw tooMany
  return value
}

/** Steps of all evaluations of this process so far: its differences tell how much was done. */
export const stepsSoFar = (): number => spentBefore + spent
