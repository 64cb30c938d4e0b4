import { createHash, randomBytes } from 'node:crypto'
import type { Db, Queryable, Tx } from '../../../db/client.ts'
import { storableText } from '../../storable.ts'
import type { Change, Lab } from '../model/context.ts'
import type { StoredFault } from './faults.ts'

export interface Site {
  readonly name: string
  readonly kind: 'source' | 'target'
  readonly product: string
  readonly version: string
  readonly instanceId: string
  readonly username: string
  readonly passwordSalt: string
  readonly passwordHash: string
  readonly seq: number
  readonly generation: number
  readonly skewMs: number
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
const sealPassword = (password: string): { salt: string; hash: string } => {
  const salt = randomBytes(16).toString('hex')
  return { salt, hash: hash(salt + password) }
}

export interface NewSite {
  readonly name: string
  readonly kind: 'source' | 'target'
  readonly product: string
  readonly version: string
  readonly instanceId: string
  readonly username: string
  readonly password: string
}

/** Generations begin at the time, so that no cursor of an earlier world fits a later one. */
export const addSite = async (tx: Queryable, site: NewSite): Promise<void> => {
  const password = sealPassword(site.password)
  await tx`
    insert into lab.site (name, kind, product, version, instance_id, username, password_salt, password_hash,
      generation)
    values (${site.name}, ${site.kind}, ${site.product}, ${site.version}, ${site.instanceId},
      ${site.username}, ${password.salt}, ${password.hash}, extract(epoch from clock_timestamp())::int)`
}

export const listSites = async (db: Queryable): Promise<Site[]> =>
  await db<Site[]>`select * from lab.site order by name`

export const passwordFits = (site: Site, username: string, password: string): boolean =>
  username === site.username && hash(site.passwordSalt + password) === site.passwordHash

/** Every session ends with the old password. */
export const setPassword = async (tx: Queryable, site: string, password: string): Promise<void> => {
  const sealed = sealPassword(password)
  await tx`update lab.site set password_salt = ${sealed.salt}, password_hash = ${sealed.hash} where name = ${site}`
  await endSessions(tx, site)
}

export const endSessions = async (tx: Queryable, site: string): Promise<void> => {
  await tx`delete from lab.session where site = ${site}`
}

const sessionsMax = 1_000

export const openSession = async (db: Queryable, site: string, caller: string): Promise<string> => {
  const token = randomBytes(24).toString('base64url')
  await db`insert into lab.session (token_hash, site, caller) values (${hash(token)}, ${site}, ${caller})`
  await db`
    delete from lab.session where site = ${site} and token_hash in (
      select token_hash from lab.session where site = ${site} order by created_at desc offset ${sessionsMax})`
  return token
}

export const closeSession = async (db: Queryable, token: string): Promise<void> => {
  await db`delete from lab.session where token_hash = ${hash(token)}`
}

/** All that a call has to know before it begins, in one round trip. */
export interface Prelude {
  readonly offsetMs: number
  readonly pace: number
  readonly due: boolean
  readonly site: Site | null
  readonly signedIn: boolean
  readonly faults: readonly StoredFault[]
}

export const readPrelude = async (
  lab: Lab,
  asked: { site: string; token: string },
): Promise<Prelude | undefined> => {
  const [[row], [site]] = await Promise.all([preludeRow(lab, asked), siteRow(lab, asked.site)])
  return row ? { ...row, site: site ?? null } : undefined
}

const siteRow = (lab: Lab, name: string) =>
  lab.db<Site[]>`select * from lab.site where name = ${storableText(name)}`

const preludeRow = (lab: Lab, asked: { site: string; token: string }) => lab.db<Omit<Prelude, 'site'>[]>`
    select w.offset_ms, w.pace,
      exists (select from lab.task t where t.state = 'running' and t.due_at <=
        ${new Date(lab.clock.now())}::timestamptz + w.offset_ms * interval '1 millisecond') as due,
      exists (select from lab.session s where s.site = ${storableText(asked.site)} and s.token_hash = ${hash(asked.token)})
        as signed_in,
      (select coalesce(json_agg(f order by f.id), '[]') from lab.fault f) as faults
    from lab.world w`

/** The lab's own time: the wall's, and what a test has let pass beyond it. */
export const readTime = async (lab: Lab): Promise<{ now: number; pace: number }> => {
  const [row] = await lab.db<{ offsetMs: number; pace: number }[]>`select offset_ms, pace from lab.world`
  return { now: lab.clock.now() + (row?.offsetMs ?? 0), pace: row?.pace ?? 1 }
}

/**
 * Runs one change of a site. Whoever changes anything that a listing shows holds the site's row, so that changes
 * become visible in the order of their numbers and a delta never misses one.
 */
export const changeSite = async <Result>(
  lab: Lab,
  site: string,
  options: { at?: number; why: string },
  work: (change: Change) => Promise<Result>,
): Promise<Result> => {
  const { now, pace } = await readTime(lab)
  return (await lab.db.begin(async (tx) => {
    const seq = await nextSeq(tx, site)
    return await work({ tx, site, at: options.at ?? now, seq, pace, why: options.why })
  })) as Result
}

const nextSeq = async (tx: Tx, site: string): Promise<number> => {
  const [row] = await tx<
    { seq: number }[]
  >`update lab.site set seq = seq + 1 where name = ${site} returning seq`
  return row?.seq ?? 0
}

/** A ref that the site has never given before. */
export const newRef = async (change: Change, prefix: string): Promise<string> => {
  const [row] = await change.tx<{ n: number }[]>`
    update lab.site set next_ref = next_ref + 1 where name = ${change.site} returning next_ref as n`
  return `${prefix}-${100_000 + (row?.n ?? 0)}`
}

/** Gives every site this password, where it has another. */
export const ensurePasswords = async (db: Db, password: string): Promise<void> => {
  for (const site of await listSites(db))
    if (!passwordFits(site, site.username, password)) await setPassword(db, site.name, password)
}

export const setSkew = async (db: Queryable, site: string, ms: number): Promise<void> => {
  await db`update lab.site set skew_ms = ${ms} where name = ${site}`
}

export const loseCursors = async (db: Queryable, site: string): Promise<void> => {
  await db`update lab.site set generation = generation + 1 where name = ${site}`
}
