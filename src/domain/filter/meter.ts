/**
 * The most steps of one evaluation on one thing. A step takes about 20 nanoseconds, so this is about a millisecond:
 * the API answers every request from one thread.
 */
export const maxSteps = 50_000

/** The evaluation has used up its steps. */
export class TooManySteps extends Error {
  constructor() {
    super('The filter would take too long on this one: it goes through too large lists or texts.')
    this.name = 'TooManySteps'
  }
}

/** Created once: a list on whose every item a filter fails must not cost a stack trace per item. */
const tooMany = new TooManySteps()

/** Evaluation is synchronous, so there is only one at a time. */
let spent = 0
let spentBefore = 0

/** Charges for the next work. Throws {@link TooManySteps} when the budget is used up, and on every later call. */
export const spend = (steps: number): void => {
  spent += steps
  if (spent <= maxSteps) return
  // Work beyond the budget is not done.
  spent = maxSteps + 1
  throw tooMany
}

/** Runs one evaluation with a budget of its own. Throws even if the expression itself caught the error. */
export const metered = <T>(work: () => T): T => {
  spentBefore += spent
  spent = 0
  const value = work()
  if (spent > maxSteps) throw tooMany
  return value
}

/** Steps of all evaluations of this process so far; differences tell how much was done. */
export const stepsSoFar = (): number => spentBefore + spent
