import { expect } from 'vitest'
import type { Db } from '../../db/client.ts'
import type { OperationRow } from '../../db/schema/operation.ts'
import { createLab, type TestLab } from './lab.ts'
import { createOperatedWorld, type OperatedMachine, type OperatedWorld } from './operated-world.ts'
import { until } from './wait.ts'

/** A fault of the lab that strikes calls on one machine. */
export const fault = (lab: TestLab, { ref }: OperatedMachine, rule: Record<string, unknown>) =>
  lab.admin('POST /lab/faults', { site: 'vcenter', machine: ref, ...rule })

/** Machines of a lab that a fleet of real processes operates; both are made before the first test. */
export class RaceScene {
  lab!: TestLab
  world!: OperatedWorld

  async begin(db: Db): Promise<void> {
    this.lab = await createLab({ world: 'large', machines: 40, pace: 0.3 })
    this.world = await createOperatedWorld(db, this.lab)
  }

  machineOf(n: number): OperatedMachine {
    const machine = this.world.machines[n - 1]
    if (!machine) throw new Error(`There is no machine ${n}.`)
    return machine
  }

  /** Holds calls on a machine back, until all faults are cleared. */
  async hold(machine: OperatedMachine, call: string, after = false): Promise<void> {
    await fault(this.lab, machine, { kind: 'stall', call, after })
  }

  /** A call is held back, or was. */
  async isHeld(): Promise<boolean> {
    const { json } = await this.lab.admin('GET /lab/faults')
    return (json as { faults: { struck: number }[] }).faults.some(({ struck }) => struck > 0)
  }

  async clear(): Promise<void> {
    await this.lab.admin('DELETE /lab/faults')
  }

  /** What the lab was asked to do to a machine and took on, by kind. */
  async tasks({ ref }: OperatedMachine): Promise<string[]> {
    const rows = await this.lab.database.db<{ kind: string }[]>`
      select kind from lab.task where machine = ${ref} and name is not null and not inner_work order by n`
    return rows.map(({ kind }) => kind)
  }

  /** The lab's machine is so; whatever was due there has happened then. */
  async runs(machine: OperatedMachine, power: string): Promise<void> {
    await until(
      async () => {
        await this.lab.admin('GET /lab/world')
        return (await this.world.power(machine)) === power
      },
      { what: `${machine.ref} to be ${power}`, withinMs: 60_000 },
    )
  }

  /** Such a process waits for a lock that somebody else has. */
  async waitForLock(application: string): Promise<void> {
    await until(
      async () => {
        const rows = await this.world.db`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            and application_name = ${application}`
        return rows.length > 0
      },
      { what: `${application} to wait for the machine`, withinMs: 60_000 },
    )
  }

  becomes({ id, kind }: OperationRow, state: string): Promise<true> {
    return until(async () => (await this.world.read(id)).state === state, {
      what: `${kind} to be ${state}`,
      withinMs: 60_000,
    })
  }

  ended({ id, kind }: OperationRow): Promise<true> {
    return until(async () => (await this.world.read(id)).settledAt !== null, {
      what: `${kind} to settle`,
      withinMs: 60_000,
    })
  }

  /** Each gave way to the next, and the last one is done. */
  async expectChain(chain: readonly OperationRow[]): Promise<void> {
    for (const [at, one] of chain.entries()) {
      const newer = chain[at + 1]
      expect(await this.world.read(one.id)).toMatchObject(
        newer ? { state: 'superseded', supersededBy: newer.id } : { state: 'completed', supersededBy: null },
      )
    }
  }
}
