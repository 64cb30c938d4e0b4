import { DroverError } from '../../errors.ts'
import type { SealHead } from '../../seal/seal-head.ts'

export const changedElsewhere = (seq: number): DroverError =>
  new DroverError({
    code: 'events-changed',
    class: 'config',
    message: `Seal ${seq}, or what it covers, was changed by somebody who may do more than add a seal: nothing was repaired.`,
    remedy: 'drover events verify says what is wrong. Restore the database from a backup of before.',
  })

export const headNeeded = (seq: number): DroverError =>
  new DroverError({
    code: 'head-needed',
    class: 'config',
    message:
      `Seal ${seq} and those behind it would be taken away, and the database alone cannot show that they were not ours: ` +
      'whoever may change a seal can make a true one look false, and hide an edited event so. Nothing was repaired.',
    remedy:
      'Give the newest head that you noted elsewhere: drover repair-seals --head <line or file>. Without any: ' +
      'drover repair-seals --without-head, and take the events of those seals for unproved.',
  })

/** The head was handed out for a seal that was proved then: a repair would hide what happened to the seal. */
export const headAgainst = ({ seq }: SealHead, first: number): DroverError =>
  new DroverError({
    code: 'events-changed',
    class: 'config',
    message:
      `Head ${seq} was handed out about a chain that held, and seal ${first}, which it covers, does not look like ours ` +
      'any more: it was changed afterwards, or our conductor went on behind a false seal. Nothing was repaired.',
    remedy:
      'Compare the events with a backup of before. If they are the same, and a head from before that seal holds, give that ' +
      'one with --head.',
  })

export const headLost = ({ seq }: SealHead): DroverError =>
  new DroverError({
    code: 'events-changed',
    class: 'config',
    message: `The chain does not hold head ${seq}, which was handed out: it was replaced. Nothing was repaired.`,
    remedy: 'Restore the database from a backup of before.',
  })
