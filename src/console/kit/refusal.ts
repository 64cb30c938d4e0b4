import type { Context } from 'hono'
import type { Actor, ApiEnv } from '../../api/http/env.ts'
import type { FormState } from './form.ts'

/** A refusal that is said on top of the page it was asked from. */
export interface Refusal {
  readonly state: FormState
  readonly status: 409 | 412 | 422
  /** Whether anything was to be done, or only shown. */
  readonly did: 'ask' | 'show'
}

/** What a page is given that is made for a request of another address. */
export interface InProcess {
  readonly actor: Actor
  readonly refusal: Refusal
}

/** The refusal that a page which is made anew has to say. */
export const refusalOf = (c: Context<ApiEnv>): Refusal | undefined =>
  (c.env as Partial<InProcess> | undefined)?.refusal
