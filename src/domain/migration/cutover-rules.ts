import { type EntryRule, row } from './entry-rule.ts'

/** From the power-off of the source to the end. */
export const cutoverRules: readonly EntryRule[] = [
  row({
    event: 'cutover-begin',
    from: ['idle'],
    in: ['background', 'final'],
    to: 'final-import',
    stage: 'final',
    says: 'Its window is open: the source is switched off and the rest is copied.',
  }),
  row({
    event: 'copied',
    from: ['final-import'],
    in: ['final'],
    to: 'idle',
    stage: 'complete',
    says: 'The copy is the source as it was when it was switched off.',
  }),
  row({
    event: 'post-begin',
    from: ['idle'],
    in: ['complete'],
    to: 'post-import',
    says: 'The copy is fitted to its new home.',
  }),
  row({
    event: 'post-done',
    from: ['post-import'],
    in: ['complete'],
    to: 'worker-done',
    says: 'It is ready to be verified.',
  }),
  row({
    event: 'verified',
    from: ['worker-done'],
    in: ['complete'],
    to: 'finished',
    says: 'The target runs, or rests, as it should, and a certificate says so.',
  }),
  row({
    event: 'copy-stale',
    from: ['worker-done'],
    in: ['complete'],
    to: 'final-import',
    stage: 'final',
    says: 'The source has run: what it wrote is not in the copy. It is off again, and the final import is done anew.',
  }),
  row({
    event: 'copy-stale',
    from: ['conflict'],
    in: ['complete'],
    to: 'conflict',
    stage: 'final',
    source: 'start',
    says: 'The source has run again and goes on running: a resolve begins with a new final import.',
  }),
  row({
    event: 'conflict',
    from: ['worker-done'],
    in: ['complete'],
    to: 'conflict',
    says: 'A person has to decide: it would land elsewhere now, or it does not start.',
  }),
  row({
    event: 'identity-changed',
    from: ['background-import', 'idle', 'final-import', 'post-import', 'worker-done'],
    to: 'error',
    stage: 'background',
    source: 'person',
    says: 'The source is not the machine any more that was copied.',
  }),
]
