import { tlsCode } from '../../errors.ts'

/**
 * Why a delivery failed, for everybody with a token. Coarse on purpose: refused, silent, cut off and not HTTP give one
 * answer, so that a webhook does not reveal which ports are open in Drover's network. The log has the detail.
 */
export const webhookFailures = {
  address: 'The receiver has an address that webhooks may not be sent to.',
  name: 'The name of the receiver was not found.',
  tls: 'No trusted TLS connection to the receiver can be made.',
  'no-answer': 'The receiver gave no HTTP answer in time.',
  redirect: 'The receiver answered with a redirect (3xx); redirects are not followed.',
  refusal: 'The receiver refused the delivery (4xx).',
  trouble: 'The receiver is in trouble (5xx).',
  odd: 'The receiver answered with a status that is neither success nor failure.',
  sealed:
    'Its URL or its secret cannot be opened: create the webhook again, or give Drover the key it was made with.',
} as const

export type WebhookFailure = keyof typeof webhookFailures

export interface FailedPost {
  readonly delivered: false
  readonly failure: WebhookFailure
  /** For the log only. Contains neither the URL nor a secret. */
  readonly detail?: string
}

/** By the status of an answer; undefined: delivered. */
export const failureOfStatus = (status: number): WebhookFailure | undefined => {
  if (status >= 200 && status < 300) return undefined
  if (status >= 300 && status < 400) return 'redirect'
  if (status >= 400 && status < 500) return 'refusal'
  return status >= 500 && status < 600 ? 'trouble' : 'odd'
}

const nameCodes = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME', 'EAI_FAIL'])

/** By the code of a network error. */
export const failureOfCode = (code: string | undefined): WebhookFailure => {
  if (code === undefined) return 'no-answer'
  if (nameCodes.has(code)) return 'name'
  return tlsCode.test(code) ? 'tls' : 'no-answer'
}
