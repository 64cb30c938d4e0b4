/** The API's own limits. Not a person's to change while we run; a test may pass smaller ones. */
export const apiLimits = Object.freeze({
  /** No answer takes longer than this, streams apart: with the database gone the answer is 503, not a hang. */
  requestMs: 5_000,
  /** Open at once from the network, streams among them. Far below what a process may have of files. */
  connections: 2_000,
  /** Open at once over the local socket, beside those: what the network does keeps no local operator out. */
  localConnections: 200,
  urlBytes: 8 * 1024,
  headerBytes: 16 * 1024,
  /** Deeper JSON is never ours, and what walks it (validators, digests) is recursive. */
  jsonDepth: 32,
  /** So many entries are acted on in one request; the next one goes on. */
  bulkEntries: 1_000,
  /** The same for machines of which something is asked: each in a transaction of its own. */
  bulkMachines: 500,
  requestsPerSecond: 300,
  requestsBurst: 900,
  /** Requests of one peer without a credential, where one is needed. They cost no look at the database. */
  anonymousPerSecond: 50,
  anonymousBurst: 300,
  /** Wrong credentials of one peer: this many at once, then one every `failureRefillMs`. */
  failuresBurst: 20,
  failureRefillMs: 3_000,
  /** How many peers and tokens the rate limiter remembers. */
  buckets: 10_000,
  streams: 200,
  streamsPerActor: 20,
  heartbeatMs: 15_000,
  /** A reader of a stream that takes longer than this to take one chunk is dropped; it resumes by its last id. */
  slowReaderMs: 10_000,
  /** How often it is looked whether who opened a stream may still do so. */
  streamCheckMs: 1_000,
  /** Sign-ins of one token: so many at once, then one every `signInRefillMs`. Each is an event. */
  signInsBurst: 50,
  signInRefillMs: 3_000,
  /** Failed sign-ins of this long are one event and one line of the log. */
  failedSignInsMs: 30_000,
  /** A login form is a token and a path. */
  loginBytes: 16 * 1024,
  sessionMs: 12 * 3_600_000,
  /** A token's last use is written at most this often. */
  lastUsedMs: 60_000,
})

export type ApiLimits = { readonly [Name in keyof typeof apiLimits]: number }
