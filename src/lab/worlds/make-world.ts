import { z } from 'zod'
import type { Tx } from '../../../db/client.ts'
import type { Change, Lab } from '../model/context.ts'
import { addSite, type NewSite } from '../store/sites.ts'
import { clearWorld } from '../store/worlds.ts'
import { makeBroken } from './broken.ts'
import { makeLarge } from './large.ts'
import { makeSmall } from './small.ts'

export const worldNames = ['small', 'large', 'broken'] as const
export type WorldName = (typeof worldNames)[number]

export const worldRequest = z.object({
  world: z.enum(worldNames),
  seed: z
    .number()
    .int()
    .min(1)
    .max(2 ** 31)
    .default(1),
  /** What durations are multiplied by: 0 is at once. */
  pace: z.number().min(0).max(1_000).default(1),
  /** Of the user `drover`, at every site. */
  password: z.string().min(1).max(1_024).optional(),
  /** Of the world `large`: how many machines. */
  machines: z.number().int().min(1).max(200_000).default(10_000),
})
export type WorldRequest = z.infer<typeof worldRequest>

/** What the maker of a world works with. */
export interface WorldMaker {
  readonly tx: Tx
  readonly seed: number
  readonly machines: number
  readonly at: number
  /** Adds a site; what is put into it goes through the change that comes back. */
  site(site: Omit<NewSite, 'username' | 'password'>): Promise<Change>
}

const makers: Readonly<Record<WorldName, (maker: WorldMaker) => Promise<void>>> = {
  small: makeSmall,
  large: makeLarge,
  broken: makeBroken,
}

/** Everything that was is gone, and the world is there, or nothing has changed. */
export const makeWorld = async (lab: Lab, request: WorldRequest & { password: string }): Promise<void> => {
  const at = lab.clock.now()
  await lab.db.begin(async (tx) => {
    await clearWorld(tx, { name: request.world, seed: request.seed, pace: request.pace })
    await makers[request.world]({
      tx,
      seed: request.seed,
      machines: request.machines,
      at,
      site: async (site) => {
        await addSite(tx, { ...site, username: 'drover', password: request.password })
        return { tx, site: site.name, at, seq: 0, pace: request.pace, why: 'world' }
      },
    })
  })
}
