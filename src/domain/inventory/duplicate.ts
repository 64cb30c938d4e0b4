/** The machine that was there first with a UUID; null: there is none. */
export interface Owner {
  readonly name: string | null
  readonly ref: string | null
  readonly source: string | null
}

/** Why an instance does not count; null: it does. */
export const whyDuplicate = ({ name, ref, source }: Owner): string | null =>
  ref === null
    ? null
    : `Another machine has the same UUID and was there first. That is ${name} (${ref}) of source ${source}.`
