import type { Tx } from '../../../db/client.ts'
import { hasEvents } from '../../../db/queries/events/prune-events.ts'
import { deleteStatements, insertStatement, readEventFloor } from '../../../db/queries/seals/repair-seals.ts'
import { readSeal, readStatementsAfter, type StoredSeal } from '../../../db/queries/seals/verify-seals.ts'
import { DroverError } from '../../errors.ts'
import { type Sealer, sameBytes } from '../../seal/seal.ts'
import type { SealKeys } from './former-keys.ts'
import { changedElsewhere } from './repair-errors.ts'
import { digestRange } from './seal-digest.ts'
import { pruneText } from './seal-texts.ts'
import { dayMs } from './verify-pruned.ts'

/** What became of consecutive false statements. */
export interface RepairedStatements {
  readonly fromSeq: number
  readonly toSeq: number
  readonly statements: number
  /** Events of our seals that are gone for good, and those that still exist. */
  readonly missing: number
  readonly kept: number
  /** A signed statement says that the events up to this seal are gone; null: none was made. */
  readonly signedTo: number | null
  /** The missing events that the signed statement covers. */
  readonly missingSigned: number
  readonly keptDays: number
}

interface Run {
  readonly fromSeq: number
  readonly toSeq: number
  readonly statements: number
  /** A valid statement follows it, and statements leave no gap. */
  readonly followed: boolean
}

interface Repairing {
  readonly keys: SealKeys
  readonly sealer: Sealer
  readonly floorDays: number
}

const pageStatements = 500

/**
 * Removes false statements. It deletes no event: where some events of a span still exist, it signs nothing about them.
 */
export const repairStatements = async (
  tx: Tx,
  { keys, sealer }: Pick<Repairing, 'keys' | 'sealer'>,
): Promise<RepairedStatements[]> => {
  const runs = await falseRuns(tx, keys)
  if (runs.length === 0) return []
  const floorDays = await readEventFloor(tx)
  if (floorDays === undefined) throw noFloor()
  const repaired: RepairedStatements[] = []
  for (const run of runs) repaired.push(await replaceRun(tx, run, { keys, sealer, floorDays }))
  return repaired
}

/** Not only the newest: several can be false, and an earlier version pruned on after a false one. */
const falseRuns = async (tx: Tx, keys: SealKeys): Promise<Run[]> => {
  const runs: Run[] = []
  let open: Run | undefined
  let last = 0
  for (;;) {
    const page = await readStatementsAfter(tx, last, pageStatements)
    for (const said of page) {
      last = said.fromSeq
      const ours = keys.proveStatement(said)
      if (ours && open) runs.push({ ...open, followed: true })
      const { fromSeq = said.fromSeq, statements = 0 }: Partial<Run> = open ?? {}
      open = ours ? undefined : { fromSeq, toSeq: said.toSeq, statements: statements + 1, followed: false }
    }
    if (page.length < pageStatements) break
  }
  return open ? [...runs, open] : runs
}

const replaceRun = async (tx: Tx, run: Run, repairing: Repairing): Promise<RepairedStatements> => {
  const { sealer, floorDays } = repairing
  const { fromSeq, toSeq, statements } = run
  const atMs = Date.now()
  const { missing, kept, missingSigned, through } = await lookAt(tx, run, {
    ...repairing,
    youngestMs: atMs - floorDays * dayMs,
  })
  if (run.followed && through?.seq !== toSeq) throw inBetween(run, kept)
  await deleteStatements(tx, run)
  if (through) {
    const said = { fromSeq, toSeq: through.seq, kind: 'pruned' as const, keptDays: floorDays }
    const unsigned = { ...said, throughHash: through.hash, prunedBy: 'repair-seals', atMs }
    await insertStatement(tx, { ...unsigned, mac: sealer.mac(pruneText(unsigned)) })
  }
  const signedTo = through?.seq ?? null
  return { fromSeq, toSeq, statements, missing, kept, signedTo, missingSigned, keptDays: floorDays }
}

/** Counts what is gone, and finds how far, from the first seal on, nothing is left: only that can be stated. */
const lookAt = async (
  tx: Tx,
  run: Run,
  { keys, youngestMs }: Pick<Repairing, 'keys'> & { readonly youngestMs: number },
) => {
  let [missing, kept, missingSigned] = [0, 0, 0]
  let through: StoredSeal | undefined
  // The rest of the pruned range before goes with the next retention; until then nothing can be stated after it.
  const before = await readSeal(tx, run.fromSeq - 1)
  let gone = !before || !(await hasEvents(tx, before))
  for (let seq = run.fromSeq; seq <= run.toSeq; seq += 1) {
    const seal = await readSeal(tx, seq)
    // A false seal, and everything after it, cannot be stated by us.
    if (!seal || !keys.proveSeal(seal)) break
    const found = await digestRange(tx, seal, seal.version)
    const whole = found.events === seal.events
    if (found.events > seal.events || (whole && !sameBytes(found.hash, seal.hash)))
      throw changedElsewhere(seq)
    missing += seal.events - found.events
    kept += found.events
    gone = gone && found.events === 0 && seal.sealedAtMs <= youngestMs
    if (gone && (seal.events > 0 || run.followed)) {
      through = seal
      missingSigned = missing
    }
  }
  return { missing, kept, missingSigned, through }
}

const noFloor = (): DroverError =>
  new DroverError({
    code: 'config-missing',
    class: 'config',
    message: 'The database does not know how long events are kept at least (event_floor is empty).',
    remedy: 'Run drover migrate, then drover repair-seals again.',
  })

const inBetween = ({ fromSeq, toSeq }: Run, kept: number): DroverError =>
  new DroverError({
    code: 'events-changed',
    class: 'config',
    message:
      `A false statement about seals ${fromSeq} to ${toSeq} stands before true ones, and cannot be replaced: ` +
      (kept > 0
        ? `${kept} of the events that it speaks of are still there. Nothing was repaired.`
        : 'a seal in it is false or too young. Nothing was repaired.'),
    remedy: 'Restore the database from a backup of before.',
  })
