import { DroverError } from '../errors.ts'

/** The database is sealed with a key that this process was not given. */
export const keyDiffers = (missing: string, given: readonly string[]): DroverError =>
  new DroverError({
    code: 'secret-key-differs',
    class: 'config',
    message: `The database is sealed with the secret key ${missing}; this process was given ${given.join(' and ')}.`,
    remedy:
      'Give it that key as DROVER_SECRET_KEY, or among DROVER_SECRET_KEYS_OLD while `drover rekey` replaces it. ' +
      'With `npm start` it belongs into secret.key in the data directory. If it is lost, docs/production.md ("Keys") says what to do.',
    field: 'DROVER_SECRET_KEY',
  })

/** The key that this process would seal with was replaced. */
export const keyReplaced = (keyId: string): DroverError =>
  new DroverError({
    code: 'secret-key-replaced',
    class: 'config',
    message: `The secret key ${keyId} was replaced: nothing may be sealed with it any more.`,
    remedy: 'Set DROVER_SECRET_KEY to the key that replaced it.',
    field: 'DROVER_SECRET_KEY',
  })

/** The key is good, but nobody else was told of it: what it seals, others could not open. */
export const keyNotEntered = (keyId: string): DroverError =>
  new DroverError({
    code: 'secret-key-not-entered',
    class: 'config',
    message: `The secret key ${keyId} is not among the keys in use: nothing may be sealed with it yet.`,
    remedy:
      "Run `drover migrate` with the same DROVER_SECRET_KEY and DROVER_SECRET_KEYS_OLD, as the database's owner; then " +
      'start this process again.',
    field: 'DROVER_SECRET_KEY',
  })

/** Nothing shows that this key was ever one of ours, and without it the events prove nothing. */
export const keyUnseen = (keyId: string): DroverError =>
  new DroverError({
    code: 'secret-key-unseen',
    class: 'config',
    message:
      `No secret in the database is sealed with the key ${keyId}, and the chain of events does not hold with the keys ` +
      'that were given: nothing is given up.',
    remedy:
      'Give the key that the events were signed with, and find out who changed the list of keys or the events ' +
      '(docs/production.md, "Keys"). If a new installation lost its only key, begin with an empty database.',
    field: 'DROVER_SECRET_KEY',
  })

/** Secrets are there as the version before sealed them. */
export const sealedBefore = (): DroverError =>
  new DroverError({
    code: 'seals-outdated',
    class: 'config',
    message: 'Secrets in the database are sealed as the version before did it, which this one does not open.',
    remedy:
      'Stop every process of the version before, run `drover migrate` with DROVER_SECRET_KEY, and start this one.',
    field: 'DROVER_SECRET_KEY',
  })

/** Processes of the version before could not open what would be sealed anew. */
export const stillRunning = (names: readonly string[]): DroverError =>
  new DroverError({
    code: 'processes-running',
    class: 'config',
    message: `Secrets must be sealed anew, and these processes of the version before could not open them: ${names.join(', ')}.`,
    remedy: 'Stop them (what they do goes on later), then run `drover migrate` again.',
  })
