import type { Queryable } from '../../client.ts'

type Alias = 'a' | 'b'

/** The id of the installation, as the platform reports it; empty: it reports none. */
const installation = (db: Queryable, site: Alias) =>
  site === 'a'
    ? db`coalesce(a.identity ->> 'instance_id', '')`
    : db`coalesce(b.identity ->> 'instance_id', '')`

const bothSay = (db: Queryable) => db`${installation(db, 'a')} <> '' and ${installation(db, 'b')} <> ''`

/** A condition: the sites `a` and `b` are one installation, registered twice (as a source and as a target). */
export const isSamePlace = (db: Queryable) => db`case
  when ${bothSay(db)} then ${installation(db, 'a')} = ${installation(db, 'b')}
  else a.kind = b.kind and a.endpoint = b.endpoint end`

/** A condition: the sites `a` and `b` are known to be two installations. */
export const isAnotherPlace = (db: Queryable) => db`
  coalesce(${bothSay(db)} and ${installation(db, 'a')} <> ${installation(db, 'b')}, false)`

interface At {
  readonly site: ReturnType<Queryable>
  readonly ref: ReturnType<Queryable>
}

/** A condition: two records are of one machine, on a platform that is registered as a source and as a target. */
export const isItself = (db: Queryable, one: At, other: At) => db`
  (${one.ref} = ${other.ref} and exists (
    select from site a join site b on a.id = b.id or ${isSamePlace(db)} where a.id = ${one.site} and b.id = ${other.site}))`
