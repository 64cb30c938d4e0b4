import type { Env, Hono } from 'hono'
import type { Db } from '../../../db/client.ts'
import type { FeedEvent } from '../../../db/queries/events/read-events-after.ts'
import type { Clock } from '../../clock.ts'
import type { Front } from '../../config/front.ts'
import type { Bell } from '../../ledger/bell/bell.ts'
import type { EventFeed } from '../../ledger/events/event-feed.ts'
import type { Logger } from '../../process/log.ts'
import type { Sealer } from '../../seal/seal.ts'
import type { ApiLimits } from '../wire/api-limits.ts'
import type { FilterTurns } from './filter-turns.ts'
import type { Session } from './session.ts'
import type { SignIns } from './sign-ins.ts'
import type { Streams } from './streams.ts'

export type { FeedEvent }

export const roles = ['viewer', 'operator', 'admin'] as const
/** Each may do what the one before it may. */
export type Role = (typeof roles)[number]

/** Who acts. `name` is what events and rows record. */
export interface Actor {
  readonly name: string
  readonly role: Role
  /** How it proved who it is. */
  readonly by: 'token' | 'session'
  readonly tokenId: string
  /** Which of the token's sessions, where it is one. */
  readonly session?: Session
}

export interface ApiVariables {
  requestId: string
  peer: string
  actor: Actor
  log: Logger
  /** Set when it was answered that there is no answer in time. */
  late?: boolean
}

/** The part of node-server's bindings that we read; tests pass their own. */
export interface PeerBindings {
  readonly incoming?: { readonly socket: { readonly remoteAddress?: string | undefined } }
}

export interface ApiEnv extends Env {
  Bindings: PeerBindings
  Variables: ApiVariables
}

/** Everything the API needs, made by whoever starts it. */
export interface ApiDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly sealer: Sealer
  readonly limits: ApiLimits
  /** A process that was silent for longer is not counted as living. */
  readonly leaseMs: number
  /** No event is pruned before this age, whatever a setting says. */
  readonly eventsKeptDaysMin: number
  /** The address we listen on: decides which Host headers are ours. */
  readonly host: string
  readonly front: Front
  /** For the board and /readyz alone; no request that changes something ever asks it. */
  readonly bell: Pick<Bell, 'store' | 'check' | 'queues'> | undefined
  readonly events: Pick<EventFeed, 'subscribe'>
  readonly streams: Streams
  readonly filters: FilterTurns
  readonly signIns: SignIns
  /** The pages for people, mounted at `/`. Without them `/` leads to the API's own page. */
  readonly console?: Hono<ApiEnv> | undefined
}
