import { type EntryRule, row } from './entry-rule.ts'

/** From the start to the last top-up: the source runs. */
export const copyRules: readonly EntryRule[] = [
  row({
    event: 'block',
    from: ['waiting', 'blocked'],
    to: 'blocked',
    says: 'Something keeps it from starting that heals by itself; every reason is listed.',
  }),
  row({
    event: 'unblock',
    from: ['blocked'],
    to: 'waiting',
    says: 'Nothing keeps it from starting any more.',
  }),
  row({
    event: 'create',
    from: ['waiting'],
    in: ['background'],
    to: 'creating',
    says: 'The target has room for one more creation.',
  }),
  row({
    event: 'created',
    from: ['creating'],
    in: ['background'],
    to: 'idle',
    says: 'The machine is defined.',
  }),
  row({
    event: 'create-put-off',
    from: ['creating'],
    in: ['background'],
    to: 'waiting',
    target: 'destroy',
    says: 'The target could not make it now; it is tried again.',
  }),
  row({
    event: 'sync-begin',
    from: ['idle'],
    in: ['background', 'final'],
    to: 'background-import',
    cause: 'conductor',
    says: 'A first copy, or a top-up of what changed since the last one.',
  }),
  row({
    event: 'sync-done',
    from: ['background-import'],
    in: ['background', 'final'],
    to: 'idle',
    stage: 'final',
    says: 'The copy is as old as its beginning.',
  }),
  row({
    event: 'sync-put-off',
    from: ['background-import', 'idle'],
    in: ['background', 'final'],
    to: 'idle',
    cause: 'conductor',
    says: 'It was let go, or a platform could not be reached; it goes on from there.',
  }),
]
