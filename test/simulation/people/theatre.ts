import type { Db } from '../../../db/client.ts'
import { CpuPool } from '../../../workers/cpu-pool.ts'
import type { Client } from '../../api/setup.ts'
import { atEnd } from '../../support/cleanup.ts'
import type { Life } from '../operation/life.ts'
import { Beginnings } from './beginnings.ts'
import { Estate } from './estate.ts'
import { openApi } from './people.ts'
import { Place } from './place.ts'

const placeNames = ['east', 'west', 'cloud', 'cloud-2'] as const

export interface Outside {
  readonly estate: Estate
  readonly places: readonly Place[]
}

/** What a run of stories shares. */
export interface Theatre {
  readonly db: Db
  readonly ask: Client
  readonly beginnings: Beginnings<Outside>
  /** Threads take longer to start than a story: all stories have the same. */
  readonly cpu: CpuPool
  readonly lived: (life: Life) => void
}

export const openTheatre = (db: Db, lived: Theatre['lived'] = () => undefined): Theatre => {
  const cpu = new CpuPool()
  atEnd(() => cpu.close())
  return { db, lived, cpu, ask: openApi(db), beginnings: new Beginnings(db) }
}

/** Places at which there is nothing yet. */
export const emptyOutside = (): Outside => {
  const estate = new Estate()
  return { estate, places: placeNames.map((name) => new Place(name, estate)) }
}

export const copyOf = ({ estate, places }: Outside): Outside => {
  const copy = estate.copy()
  return { estate: copy, places: places.map((place) => place.copy(copy)) }
}

/** What changes as long as something happens; syncs and looks do not count. */
export const traceOf = async (db: Db): Promise<string> => {
  const [row] = await db<{ trace: string }[]>`
    select concat_ws(' ', (select count(*) from event where type not like 'job.%'),
      (select count(*) || '/' || sum(lease_epoch) from job where finished_at is null),
      (select string_agg(e.state || e.stage || coalesce(e.reason, ''), ',' order by e.id) from entry e)) as trace`
  return row?.trace ?? ''
}
