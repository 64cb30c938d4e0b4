import type { Db, Queryable } from '../../../db/client.ts'
import {
  findTwins,
  type MachineAt,
  type StartAsker,
  type TwinLine,
} from '../../../db/queries/instances/find-twins.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import {
  isOutlived,
  type Starter,
  type StartRefusal,
  type StartRefused,
  type Twin,
  whyNotStart,
} from '../../domain/inventory/may-start.ts'
import { asDroverError, DroverError } from '../../errors.ts'
import type { UsePlatform } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { requireTrusted } from '../connection/connectivity.ts'

/** A machine to be started. Every start of a machine is checked here: at its request, and right before the call. */
export interface Start {
  readonly at: MachineAt
  readonly name: string
  readonly by: StartAsker
  /** Started by its own migration: the source that is given back, or the copy that is verified. */
  readonly byItsMigration: boolean
}

/**
 * Why the machine must not be started, from what is recorded; undefined: nothing is known against it. For the
 * transaction of the request.
 */
export const whyStartRefused = async (db: Queryable, start: Start): Promise<StartRefused | undefined> => {
  const { self, twins } = readTwins(start, await findTwins(db, start.at, start.by))
  return whyNotStart(self, twins, 'asked')
}

/** The machine of an instance, as a person starts it on its source. */
export const startOfInstance = (
  instance: { readonly siteId: string; readonly ref: string; readonly uuid: string; readonly name: string },
  jobId: string | null,
): Start => ({
  at: { siteId: instance.siteId, ref: instance.ref, uuid: instance.uuid },
  name: instance.name,
  by: { jobId, entryId: null },
  byItsMigration: false,
})

/** A machine of a target, as an operation starts it. */
export const startOfMachine = (
  machine: { readonly targetId: string; readonly ref: string; readonly uuid: string; readonly name: string },
  jobId: string | null,
): Start => startOfInstance({ ...machine, siteId: machine.targetId }, jobId)

interface Looking {
  readonly db: Db
  readonly usePlatform: UsePlatform
  readonly signal: AbortSignal
}

const callMs = 30_000

/**
 * Throws unless the machine may be started now: asks every other site that may have the VM whether it runs there. A
 * site that does not answer is no proof, so nothing is started, unless a certificate proves it.
 */
export const requireMayStart = async (looking: Looking, start: Start): Promise<void> => {
  const { self, twins } = readTwins(start, await findTwins(looking.db, start.at, start.by))
  const seen: Twin[] = []
  for (const twin of twins) seen.push({ ...twin, power: await lookAt(looking, start, self, twin) })
  const refused = whyNotStart(self, seen, 'now')
  if (refused) throw refusal(refused)
}

interface TwinAt extends Twin {
  readonly siteId: string | null
  readonly ref: string
}

const lookAt = async (
  { db, usePlatform, signal }: Looking,
  { at, by }: Start,
  self: Starter,
  twin: TwinAt,
): Promise<Twin['power']> => {
  const site = twin.siteId === null ? undefined : await loadSiteById(db, twin.siteId)
  const isGone = twin.power === 'gone'
  if (!site) return isGone ? 'gone' : 'unknown'
  // A machine that was seen to disappear is looked for once more if its site answers: it may be back, or was
  // overlooked.
  if (isGone && site.connectivity !== 'ok') return 'gone'
  try {
    requireTrusted(site)
    return await usePlatform(site, async (platform) => {
      const call = { signal, timeoutMs: callMs, name: `twin-of-${at.ref}-${by.jobId ?? ''}` }
      const found = await portOf(platform, 'power').power(call, twin.ref)
      return found.found ? found.value.state : 'gone'
    })
  } catch (thrown) {
    if (signal.aborted) throw thrown
    if (isGone) return 'gone'
    if (isOutlived(self, twin) && site.connectivity !== 'ok') return 'unknown'
    throw cannotTell(self, twin, asDroverError(thrown))
  }
}

const readTwins = ({ name, at, byItsMigration }: Start, lines: readonly TwinLine[]) => {
  const own = lines.filter(({ relation }) => relation === 'self')
  const self: Starter = {
    called: `${name} (${at.ref})`,
    isCopy: own.length > 0,
    provenAt: latest(own),
    byItsMigration,
  }
  const byPlace = new Map<string, TwinLine[]>()
  for (const line of lines) {
    if (line.relation === 'self') continue
    const place = `${line.siteId ?? line.site}/${line.ref}`
    byPlace.set(place, [...(byPlace.get(place) ?? []), line])
  }
  return { self, twins: [...byPlace.values()].flatMap(asTwin) }
}

const latest = (lines: readonly TwinLine[]): number | null =>
  lines.reduce<number | null>(
    (most, { provenAt }) => (provenAt === null ? most : Math.max(most ?? 0, provenAt.getTime())),
    null,
  )

/**
 * Everything known of the machine at one place. A machine that a sync saw disappear is gone, whatever else remembers
 * it.
 */
const asTwin = (lines: readonly TwinLine[]): TwinAt[] => {
  const [first] = lines
  if (!first) return []
  const relation = (['original', 'copy'] as const).find((one) => lines.some((line) => line.relation === one))
  const power = lines.find((line) => line.power !== null)?.power
  return [
    {
      relation: relation ?? 'same-uuid',
      provenAt: latest(lines),
      called: `${first.name} (${first.ref}) of ${first.site || 'its target'}`,
      power: lines.some(({ gone }) => gone)
        ? 'gone'
        : power === 'on' || power === 'off' || power === 'suspended'
          ? power
          : 'unknown',
      starting: startedBy(lines),
      siteId: first.siteId,
      ref: first.ref,
    },
  ]
}

const startedBy = (lines: readonly TwinLine[]): string | null => {
  const line = lines.find(({ starting }) => starting !== null)
  if (!line?.starting) return null
  const [what, id] = line.starting.split('/')
  return what === 'migration'
    ? `its migration in batch ${line.batch} (entry ${id}, ${line.entryState}${line.entryState === 'blocked' ? ' until its cause is gone' : ''})`
    : `the ${what} ${id}`
}

const remedies: Readonly<Record<StartRefusal, string>> = {
  migrated: 'Work with the machine that has taken its place. Never run both.',
  'unproven-copy':
    'Retry its migration, or cancel it with cleanup, which takes the copy away; start the source.',
  'runs-elsewhere': 'Stop the other one first, or find out which of them is meant. Never run both.',
  'starts-elsewhere':
    'Wait for that to end, or cancel it, a migration by its entry; then ask again. If these are two VMs, give one of them a UUID of its own.',
}

export const startRemedy = (code: StartRefusal): string => remedies[code]

/** Thrown before the call: no platform was asked for anything. */
class NotStarted extends DroverError {
  override get cameToNothing(): boolean {
    return true
  }
}

const refusal = ({ code, message }: StartRefused): DroverError =>
  new NotStarted({ code, class: 'conflict', message, remedy: remedies[code] })

const cannotTell = (self: Starter, twin: Twin, cause: DroverError): DroverError =>
  new NotStarted(
    {
      code: 'twin-unknown',
      class: cause.class === 'transient' ? 'transient' : 'environment',
      message: `${self.called} is not started yet: ${twin.called} is the same VM, and whether it runs cannot be told: ${cause.message}`,
      remedy: `Bring the platform of ${twin.called} back; this is tried again.`,
      detail: { twin: twin.called, code: cause.code },
    },
    { cause },
  )
