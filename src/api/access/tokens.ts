import { createHash, randomBytes } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Db, Tx } from '../../../db/client.ts'
import {
  countAdmins,
  findLiveTokenByName,
  insertAccessToken,
  lockAccessTokens,
  revokeAccessToken,
  type TokenRow,
} from '../../../db/queries/access/access-tokens.ts'
import {
  anyAccessToken,
  findAccessTokenByHash,
  type KnownToken,
} from '../../../db/queries/access/find-access-token.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import type { Role } from '../http/env.ts'

/** `drv_<id>_<secret>`: the id tells tokens apart in a log or a list, the secret has 256 random bits. */
export const newSecret = (): string =>
  `drv_${randomBytes(4).toString('hex')}_${randomBytes(32).toString('base64url')}`

/** One round of SHA-256 is enough: what is hashed is random and long, not a person's password. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret, 'utf8').digest()

/** What a list may show of a token: enough to tell it from another, useless to guess the rest. */
const hintOf = (secret: string): string =>
  secret.startsWith('drv_') ? secret.slice(0, 12) : `${secret.slice(0, 2)}…`

export interface NewToken {
  readonly name: string
  readonly role: Role
  readonly expiresAt: Date | null
  readonly createdBy: string
  readonly secret: string
}

/** Stores a token and its event. The caller holds `lockAccessTokens` where it counts tokens. */
export const createToken = async (tx: Tx, token: NewToken): Promise<TokenRow> => {
  const row = await insertAccessToken(tx, {
    id: uuidv7(),
    name: token.name,
    role: token.role,
    hash: hashSecret(token.secret),
    hint: hintOf(token.secret),
    createdBy: token.createdBy,
    expiresAt: token.expiresAt,
  })
  await insertAuditEvent(tx, {
    type: 'token.created',
    subject: { type: 'token', id: row.id },
    actor: token.createdBy,
    to: 'active',
    detail: { name: token.name, role: token.role },
  })
  return row
}

export const revokeToken = async (tx: Tx, id: string, by: string): Promise<boolean> => {
  if (!(await revokeAccessToken(tx, id))) return false
  await insertAuditEvent(tx, {
    type: 'token.revoked',
    subject: { type: 'token', id },
    actor: by,
    from: 'active',
    to: 'revoked',
  })
  return true
}

const presetName = 'preset-admin'
const actor = 'start'

/** What became of the token that `DROVER_ADMIN_TOKEN` names. A word that is not `stored` or `kept`: it opens nothing. */
export type PresetState = 'stored' | 'kept' | 'revoked' | 'expired' | 'not an admin'

export interface AdminTokens {
  /** The first token's secret, this once. */
  readonly token?: string
  readonly created: boolean
  readonly preset?: PresetState
  /** How many tokens let somebody administrate now. */
  readonly admins: number
}

/**
 * Makes sure that somebody can sign in. A preset is stored as the token `preset-admin`, in place of an older preset;
 * one that was revoked stays dead. Without one, a first token is made when there is none.
 */
export const ensureAdminToken = async (db: Db, preset: string | undefined): Promise<AdminTokens> => {
  const made = await db.begin(async (tx) => {
    await lockAccessTokens(tx)
    const first = preset === undefined ? await makeFirst(tx) : await keepPreset(tx, preset)
    return { ...first, admins: await countAdmins(tx) }
  })
  return made
}

const makeFirst = async (tx: Tx): Promise<Omit<AdminTokens, 'admins'>> => {
  if (await anyAccessToken(tx)) return { created: false }
  const secret = newSecret()
  await createToken(tx, { name: 'admin', role: 'admin', expiresAt: null, createdBy: actor, secret })
  return { token: secret, created: true }
}

const keepPreset = async (tx: Tx, preset: string): Promise<Omit<AdminTokens, 'admins'>> => {
  const hash = hashSecret(preset)
  const same = await findAccessTokenByHash(tx, hash)
  if (same) return { created: false, preset: stateOf(same) }
  const known = await findLiveTokenByName(tx, presetName)
  if (known) await revokeToken(tx, known.id, actor)
  await createToken(tx, {
    name: presetName,
    role: 'admin',
    expiresAt: null,
    createdBy: actor,
    secret: preset,
  })
  return { created: true, preset: 'stored' }
}

const stateOf = (token: KnownToken): PresetState => {
  if (token.revoked) return 'revoked'
  if (token.expired) return 'expired'
  return token.role === 'admin' ? 'kept' : 'not an admin'
}

/** What somebody who starts Drover has to know about the ways in; empty when all is well. */
export const wayInAdvice = ({ preset, admins }: Pick<AdminTokens, 'preset' | 'admins'>): string[] => [
  ...(preset === undefined || preset === 'stored' || preset === 'kept'
    ? []
    : [`The token in DROVER_ADMIN_TOKEN is ${preset} and stays so. Set another value, or unset it.`]),
  ...(admins > 0
    ? []
    : [
        'No admin token is left that is good. Set DROVER_ADMIN_TOKEN to a new value (`openssl rand -hex 32` makes one) and start again.',
      ]),
]
