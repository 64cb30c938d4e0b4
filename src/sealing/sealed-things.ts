import type { Queryable } from '../../db/client.ts'
import {
  pageFormerKeys,
  pageSealedAnswers,
  pageSealedSites,
  pageSealedWebhooks,
  pageSigningKeys,
  replaceAnswer,
  replaceSeal,
  type SealedSite,
} from '../../db/queries/seals/sealed-rows.ts'
import type { SealPlace } from '../seal/seal.ts'
import {
  answerPlace,
  formerKeyPlace,
  signingKeyPlace,
  siteCursorPlace,
  sitePasswordPlace,
  webhookSecretPlace,
  webhookUrlPlace,
} from '../seal/seal-places.ts'
import { markSealed, sealOfAnswer } from './sealed-answer.ts'

/** What a person may have to hear of a seal that nothing opens. */
export interface SealedName {
  /** Of what it is a part: "source paris". */
  readonly of: string
  /** Which part: "the password". Empty where it is the whole. */
  readonly part: string
  /** For a person: "the password of source paris". */
  readonly name: string
  /** How a person gives it again. */
  readonly remedy?: string
  /** Where nobody can: what that means. */
  readonly gone?: string
}

/** One seal in the database. */
export interface SealedThing extends SealedName {
  /** What nobody misses: it is made anew by itself, or forgotten within a day. */
  readonly dispensable: boolean
  readonly place: SealPlace
  readonly sealed: Buffer
  /** False: somebody stored a newer seal meanwhile. */
  replace(db: Queryable, fresh: Buffer): Promise<boolean>
}

const pageSize = 100

/** Everything that is sealed, page by page, each as it is when its page is read. */
export const sealedThings = async function* (db: Queryable): AsyncGenerator<SealedThing> {
  for await (const site of pages((after) => pageSealedSites(db, { after, limit: pageSize }), idOf))
    yield* ofSite(site)
  for await (const row of pages((after) => pageSealedWebhooks(db, { after, limit: pageSize }), idOf)) {
    const secret = webhookPart('secret', row)
    yield thing(secret, 'webhook', 'secret', row.id, webhookSecretPlace(row.id), row.secret)
    const url = webhookPart('URL', row)
    if (row.sealedUrl)
      yield thing(url, 'webhook', 'sealed_url', row.id, webhookUrlPlace(row.id, row.url), row.sealedUrl)
  }
  for await (const { id, privateKey } of pages(
    (after) => pageSigningKeys(db, { after, limit: pageSize }),
    idOf,
  ))
    yield thing(signingKeyName(id), 'signing_key', 'private_key', id, signingKeyPlace(id), privateKey)
  for await (const { id, sealed } of pages((after) => pageFormerKeys(db, { after, limit: pageSize }), idOf))
    yield thing(formerKeyName(id), 'former_key', 'sealed', id, formerKeyPlace(id), sealed)
  yield* answers(db)
}

const ofSite = function* (site: SealedSite): Generator<SealedThing> {
  if (site.secret)
    yield thing(sitePassword(site), 'site', 'secret', site.id, sitePasswordPlace(site), site.secret)
  if (!site.cursor) return
  const name = partOf('cursor', `${site.role} ${site.name}`)
  const cursor = thing(name, 'site', 'cursor', site.id, siteCursorPlace(site), site.cursor)
  yield { ...cursor, dispensable: true }
}

const answers = async function* (db: Queryable): AsyncGenerator<SealedThing> {
  const read = (after: { actor: string; key: string } | undefined) =>
    pageSealedAnswers(db, { after, limit: pageSize })
  for await (const answer of pages(read, ({ actor, key }) => ({ actor, key }))) {
    const sealed = sealOfAnswer(answer.body)
    if (!sealed) continue
    yield {
      ...partOf('kept answer', answer.actor),
      dispensable: true,
      place: answerPlace(answer),
      sealed,
      replace: (to, fresh) => replaceAnswer(to, answer, markSealed(fresh)),
    }
  }
}

/** How a password is given again. */
export const siteRemedy = (role: string, name: string): string => `drover ${role}s set ${name} --password`

/** A webhook's secret is shown once, when it is made. */
export const webhookRemedy = (id: string): string => `drover webhooks remove ${id}, then drover webhooks add`

const partOf = (part: string, of: string): SealedName => ({
  ...{ of, part: `the ${part}`, name: `the ${part} of ${of}` },
})

const sitePassword = ({ role, name }: Pick<SealedSite, 'role' | 'name'>): SealedName => ({
  ...partOf('password', `${role} ${name}`),
  remedy: siteRemedy(role, name),
})

const webhookPart = (
  part: string,
  { id, name }: { readonly id: string; readonly name: string },
): SealedName => ({
  ...partOf(part, `webhook ${name}`),
  remedy: webhookRemedy(id),
})

const signingKeyName = (id: string): SealedName => ({
  ...{ of: `signing key ${id}`, part: '', name: `the signing key ${id}` },
  gone: 'it signs nothing any more; what it signed stays good.',
})

const formerKeyName = (id: string): SealedName => ({
  ...{ of: `key ${id}`, part: '', name: `what is kept of the key ${id}` },
  gone: 'events that this key signed are held by the hash of a later seal alone.',
})

const thing = (
  name: SealedName,
  table: 'site' | 'webhook' | 'signing_key' | 'former_key',
  column: 'secret' | 'cursor' | 'sealed_url' | 'private_key' | 'sealed',
  id: string,
  place: SealPlace,
  sealed: Buffer,
): SealedThing => ({
  ...name,
  ...{ dispensable: false, place, sealed },
  replace: (db, fresh) => replaceSeal(db, { table, column, id, was: sealed, fresh }),
})

const idOf = ({ id }: { readonly id: string }): string => id

const pages = async function* <Row, Key>(
  read: (after: Key | undefined) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
): AsyncGenerator<Row> {
  for (let after: Key | undefined; ; ) {
    const rows = await read(after)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageSize) return
    after = keyOf(last)
  }
}
