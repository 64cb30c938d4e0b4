import type { RepairReport } from './repair-seals.ts'
import type { RepairedStatements } from './repair-statements.ts'

const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`

const sealsFromTo = (from: number, to: number): string =>
  from === to ? `seal ${from}` : `seals ${from} to ${to}`

/** The result, for a person. */
export const repairLines = ({ seals, statements, head }: RepairReport): string[] => {
  if (seals.length + statements.length === 0)
    return ['Every seal and every statement was made with our keys: nothing to do.']
  return [
    ...statements.flatMap(statementLines),
    ...sealLines(seals, head),
    'No event was changed or deleted by this. Change the passwords of the logins of Postgres, those of the conductors ' +
      'first, and end their open sessions (docs/production.md, "The chain of events does not hold").',
  ]
}

const statementLines = (repaired: RepairedStatements): string[] => {
  const { fromSeq, toSeq, statements, missing, missingSigned, signedTo, kept, keptDays } = repaired
  const about = `${counted(statements, 'false statement')} about ${sealsFromTo(fromSeq, toSeq)} ${statements === 1 ? 'was' : 'were'} taken away`
  if (missing === 0) return [`${about}; no event is missing.`]
  const unsigned = missing - missingSigned
  return [
    `${about}. Of the events of these seals ${missing} ${missing === 1 ? 'is' : 'are'} gone for good, and ${kept} ` +
      `${kept === 1 ? 'is' : 'are'} still there. What is gone is in your backups.`,
    ...(signedTo === null
      ? []
      : [
          `A signed statement by repair-seals says from now on that the events of ${sealsFromTo(fromSeq, signedTo)} are ` +
            `gone, and were ${counted(keptDays, 'day')} old at least.`,
        ]),
    ...(unsigned > 0
      ? [
          `No statement says so about ${counted(unsigned, 'event')}, since others of the same span are still there or are ` +
            'too young: drover events verify goes on to name the seal, until you put the missing events back from a backup ' +
            'or retention has come by it.',
        ]
      : []),
  ]
}

const sealLines = (seals: RepairReport['seals'], head: number | null): string[] => {
  const [first] = seals
  const last = seals.at(-1)
  if (!first || !last) return []
  const own = seals.filter(({ ours }) => ours).length
  const which = sealsFromTo(first.seq, last.seq)
  const were = seals.length === 1 ? 'was' : 'were'
  return [
    `${which.replace('seal', 'Seal')} ${were} taken away${own === 0 ? '' : `, ${own} of our own among them, made behind a false one`}. ` +
      'The conductor seals their events anew. Heads that were handed out about them do not hold any more: note a new one.',
    `The events of ${which} are unproved: nothing shows that they are what was written. ` +
      (head === null
        ? 'No head was given: somebody who may change seals can have edited events and made a true seal look false, and ' +
          'this repair would hide it. Compare these events with a backup.'
        : `Head ${head} proves what is before it; compare the events behind it with a backup.`),
  ]
}
