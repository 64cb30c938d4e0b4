import { type EntryRule, row } from './entry-rule.ts'

/** The ways back that nobody asked for. */
export const setbackRules: readonly EntryRule[] = [
  row({
    event: 'let-go',
    from: ['final-import'],
    in: ['final'],
    to: 'idle',
    source: 'start',
    says: 'Its window closed during the final import, or the work was called off: the source runs again.',
  }),
  row({
    event: 'let-go',
    from: ['idle'],
    in: ['complete'],
    to: 'idle',
    stage: 'final',
    source: 'start',
    says: 'Its window closed after the final import: the source runs again and the copy is stale.',
  }),
  row({
    event: 'let-go',
    from: ['post-import', 'worker-done'],
    in: ['complete'],
    to: 'waiting',
    stage: 'background',
    source: 'start',
    target: 'destroy',
    says: 'Its window closed when the copy had been changed already: it begins anew.',
  }),
  row({
    event: 'let-go',
    from: ['conflict'],
    in: ['complete'],
    to: 'conflict',
    stage: 'final',
    source: 'start',
    says: 'Its window closed before a person decided: the source runs again and the copy is stale.',
  }),
  row({
    event: 'fail',
    from: ['creating', 'background-import', 'idle', 'final-import', 'post-import', 'worker-done'],
    in: ['background'],
    to: 'error',
    source: 'start',
    says: 'It cannot go on by itself; the message says why.',
  }),
  row({
    event: 'fail',
    from: ['background-import', 'idle', 'final-import', 'post-import', 'worker-done'],
    in: ['final', 'complete'],
    to: 'error',
    stage: 'final',
    source: 'start',
    says: 'It cannot go on by itself; the message says why. What was copied is kept.',
  }),
]
