import type { ErrorClass } from '../../domain/job/retry.ts'
import { operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { facts, type ProblemFacts, type ProblemStatus } from './problem-facts.ts'
import { templateProblems } from './template-problems.ts'

/**
 * Every code that the API answers with by itself. The one table that decides a status: `docs/errors.md` shows
 * it, and a test keeps the two in step.
 */
export const problemCodes = {
  'bad-request': facts(400, 'Bad request', 'Send a well-formed HTTP/1.1 request.'),
  'bad-json': facts(400, 'Body is not JSON', 'Send one JSON value, encoded as UTF-8.'),
  'bad-encoding': facts(400, 'Body is not UTF-8', 'Encode the body as UTF-8.'),
  'json-too-deep': facts(400, 'JSON is nested too deep', 'Flatten the body; no request needs such depth.'),
  unauthenticated: facts(401, 'Not signed in', 'Send `Authorization: Bearer <token>`, or sign in at /login.'),
  forbidden: facts(403, 'Not allowed', 'Use a token with the role that this needs.'),
  'cross-origin': facts(
    403,
    'Request comes from another site',
    'Send it from the page itself, or use a bearer token.',
  ),
  'not-found': facts(404, 'Not found', 'Check the id; the list shows what there is.'),
  'route-unknown': facts(404, 'No such address', 'Look the address up in /docs.'),
  'method-not-allowed': facts(405, 'Method not allowed', 'Use one of the methods in the Allow header.'),
  conflict: facts(409, 'In conflict with what is', 'Look at the current state and decide again.'),
  'idempotency-mismatch': facts(
    409,
    'Idempotency-Key was used for another request',
    'Use a new key for a new request; send the same request again only with its own key.',
  ),
  'idempotency-in-flight': facts(
    409,
    'The first request with this Idempotency-Key is still running',
    'Wait for the time in Retry-After, then send the same request again.',
  ),
  'name-taken': facts(409, 'Name is taken', 'Choose another name.'),
  'last-admin': facts(409, 'This is the last admin token', 'Create another admin token first.'),
  'job-not-ended': facts(409, 'Job has not ended', 'Cancel it first, or wait for its end.'),
  'job-ended': facts(409, 'Job has ended', 'Look at its result; `:retry` runs it again.'),
  'job-succeeded': facts(409, 'Job has succeeded', 'Create a new job to do the work again.'),
  'job-moot': facts(
    409,
    'Nothing would come of the job',
    'The message says what has become of what the job was for; ask for that anew where it is still there.',
  ),
  'job-in-debt': facts(
    409,
    'Job has debts',
    'Wait until its debts are undone, or waive them; then run it again.',
  ),
  'effect-settled': facts(409, 'Effect is settled', 'Nothing is left to waive.'),
  'not-waivable': facts(
    409,
    'Effect cannot be waived now',
    'Cancel the job or wait for its end, then waive.',
  ),
  'site-in-use': facts(
    409,
    'Source or target is in use',
    'Wait for what the message names, or cancel it; then remove it.',
  ),
  'site-not-connected': facts(
    409,
    'Source or target is not connected',
    'Mend the connection, then check it with `:check`.',
  ),
  'nothing-to-confirm': facts(
    409,
    'No certificate waits for confirmation',
    'Check the connection with `:check`; look at `connectivity`.',
  ),
  'fingerprint-differs': facts(
    409,
    'Another certificate was seen',
    'Read the source or target again and compare the fingerprint with what its server shows.',
  ),
  'instance-frozen': facts(
    409,
    'A running batch holds the instance',
    'Wait for the end of the batch, or stop and reset it.',
  ),
  'vm-would-run-twice': facts(
    409,
    'The same VM runs elsewhere, or its copy has taken its place',
    'Work with the machine that is named. No force changes this: a VM never runs twice.',
  ),
  'instance-not-actionable': facts(
    409,
    'Nothing may be done to the instance now',
    'Settle each of the reasons that are named, then try again.',
  ),
  'instance-busy': facts(
    409,
    'Something else is under way for the instance',
    'Wait for that job, or cancel it.',
  ),
  'network-of-target': facts(
    409,
    'The network belongs to a target',
    'Set the overrides of the source network that is mapped to it.',
  ),
  'waiver-exists': facts(
    409,
    'The rule is waived already',
    'Remove the waiver that there is first; GET /v1/waivers shows it.',
  ),
  'batch-unknown': facts(404, 'No such batch', 'Look at the list of batches.'),
  'entry-unknown': facts(404, 'No such entry', 'Look at the queue.'),
  'batch-in-use': facts(
    409,
    'Something of the batch is under way',
    'Wait for its entries, or reset the batch; then remove it.',
  ),
  'batch-stopped': facts(409, 'The batch is stopped', 'Start the batch: its work goes on with it.'),
  'finished-not-confirmed': facts(
    409,
    'Finished migrations would be forgotten',
    'Look at what is forgotten, and send the same with `confirm_finished` when that is what you mean.',
  ),
  'batch-has-copies': facts(
    409,
    'Entries of the batch have copies on their target',
    'Reset the batch, or cancel these entries with cleanup: that takes the copies away. Then remove it.',
  ),
  'entry-has-copy': facts(
    409,
    'The entry has a copy on its target',
    'Remove it with `cleanup`: its copy is destroyed first. Or retry it.',
  ),
  'count-differs': facts(
    409,
    'Not as many as you confirmed',
    'Look at the queue again, and confirm the number that fits now.',
  ),
  'filter-too-wide': facts(
    409,
    'Too many entries for a filter',
    'Say the batch or the state beside the filter, so that it is asked of fewer.',
  ),
  'plan-outdated': facts(
    409,
    'The batch was changed since it was planned',
    'Plan it again, and approve that plan.',
  ),
  ...templateProblems,
  'machine-unknown': facts(404, 'No such machine', 'Look at the list of machines.'),
  'machine-ambiguous': facts(409, 'Several machines have this name', 'Give the id; `errors` lists them.'),
  'machine-gone': facts(409, operationReasons['machine-gone'].title, operationReasons['machine-gone'].remedy),
  'operation-absent': facts(404, 'No such operation', 'Look at the list of operations.'),
  'operation-ended': facts(
    409,
    'The operation has ended',
    'Ask for what leads from here to where you want the machine.',
  ),
  'version-mismatch': facts(
    412,
    'Changed by somebody else',
    'Read it again and send its current ETag in If-Match.',
  ),
  'body-too-large': facts(413, 'Body is too large', 'Send less; the limit is in the message.'),
  'url-too-long': facts(414, 'URL is too long', 'Shorten the query.'),
  'media-type': facts(415, 'Body is of another type', 'Send Content-Type: application/json.'),
  'host-not-allowed': facts(
    421,
    'Host is not ours',
    'Use the address that Drover listens on: localhost or 127.0.0.1.',
  ),
  'validation-failed': facts(422, 'Request is not valid', 'Correct what is named, then ask again.'),
  'kind-unknown': facts(422, 'No such job kind', 'See GET /v1/job-kinds.'),
  'payload-invalid': facts(
    422,
    'Payload does not fit its kind',
    'Correct what is named, then ask again; GET /v1/job-kinds shows the schema.',
  ),
  'payload-too-large': facts(413, 'Payload is too large', 'Store the data elsewhere and send its id.'),
  'priority-invalid': facts(422, 'Priority is not valid', 'Use a whole number from -100 to 100.'),
  'token-invalid': facts(422, 'No such admission token', 'Use class/thing with a class of GET /v1/limits.'),
  'body-missing': facts(422, 'Body is missing', 'Send a JSON body.'),
  'cursor-invalid': facts(
    422,
    'Cursor is not valid',
    'Use `next_cursor` of the page before, unchanged, or none.',
  ),
  'text-not-storable': facts(422, 'Text cannot be stored', 'Remove NUL characters and unpaired surrogates.'),
  'url-not-allowed': facts(
    422,
    'URL is not allowed',
    'Use https, or http to a loopback address, with no user name in it.',
  ),
  'password-required': facts(
    422,
    'The password is required',
    'Give the password with the new address: a stored one is never sent to another address.',
  ),
  'rule-not-waivable': facts(
    422,
    'The rule cannot be waived',
    'Mend what the rule names, or leave the instance out.',
  ),
  'filter-invalid': facts(
    422,
    'The filter is not valid',
    'Correct the filter where `detail` points; docs/filters.md says what it can ask.',
  ),
  'filter-too-expensive': facts(
    422,
    'The filter has too much to do',
    'Take out lists inside lists, time functions inside lists, and patterns; ask of one field at a time.',
  ),
  'if-match-required': facts(428, 'If-Match is required', 'Read it first and send its ETag in If-Match.'),
  'too-many-requests': facts(429, 'Too many requests', 'Wait for the time in Retry-After.'),
  'too-many-streams': facts(429, 'Too many open streams', 'Close a stream, then open the next.'),
  'filters-busy': facts(
    429,
    'Too many filters at once',
    'Wait for the time in Retry-After; send the next filter when the one before is answered.',
  ),
  'headers-too-large': facts(
    431,
    'Header fields are too large',
    'Send fewer or shorter headers and cookies.',
  ),
  unexpected: facts(500, 'Internal error', 'Report this with the request id; the log has the details.'),
  'database-away': facts(
    503,
    'The database is away',
    'Send the request again after Retry-After; with the same Idempotency-Key nothing happens twice.',
  ),
  'bell-away': facts(
    503,
    'The bell store is away',
    'Jobs are kept and start when it is back. Look at /readyz.',
  ),
  'deadline-passed': facts(
    503,
    'No answer in time',
    'Send the request again after Retry-After; with the same Idempotency-Key nothing happens twice.',
  ),
  'shutting-down': facts(
    503,
    'This process is stopping',
    'Send the request again; another process will answer.',
  ),
} as const satisfies Record<string, ProblemFacts>

export type ProblemCode = keyof typeof problemCodes

/** What an error of a class is, where its code says nothing. Exhaustive: a new class does not compile. */
export const classStatus = (errorClass: ErrorClass): ProblemStatus => {
  switch (errorClass) {
    case 'transient':
    case 'environment':
      return 503
    case 'conflict':
      return 409
    case 'config':
    case 'permanent':
      return 422
    case 'bug':
      return 500
  }
}

const titles: Readonly<Record<ProblemStatus, string>> = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'In conflict with what is',
  412: 'Changed by somebody else',
  413: 'Too large',
  414: 'URL is too long',
  415: 'Body is of another type',
  421: 'Host is not ours',
  422: 'Request is not valid',
  428: 'If-Match is required',
  429: 'Too many requests',
  431: 'Header fields are too large',
  500: 'Internal error',
  503: 'Not available now',
}

export const titleOf = (status: ProblemStatus): string => titles[status]

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(problemCodes, code)
