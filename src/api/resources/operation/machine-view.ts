import { z } from '@hono/zod-openapi'
import { type MachineLine, phaseOfLine } from '../../../../db/queries/machines/list-machines.ts'
import { runPolicies } from '../../../domain/operation/kinds/applicability.ts'
import { operationKinds } from '../../../domain/operation/kinds/kinds.ts'
import { machineOrigins } from '../../../domain/operation/kinds/origin.ts'
import { machinePhases } from '../../../domain/operation/kinds/phase.ts'
import { activeStates } from '../../../domain/operation/kinds/state.ts'
import { timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

export const machinePower = z.enum(['on', 'off', 'suspended', 'unknown'])
export const machineOrigin = z.enum(machineOrigins)
export const machinePhase = z.enum(machinePhases)
export const runPolicy = z.enum(runPolicies)

export const machineSchema = z
  .object({
    id: z.uuid(),
    target: z.string(),
    ref: z.string().openapi({ description: "The platform's id." }),
    name: z.string(),
    uuid: z.string(),
    project: z.string(),
    host: z.string(),
    power: machinePower.openapi({ description: 'As it was seen last; unknown: its host does not answer.' }),
    phase: machinePhase.openapi({ description: 'What it is doing, the operation at it considered.' }),
    hibernated: z.boolean().openapi({ description: 'It has a saved state to wake from.' }),
    cpus: z.int(),
    memory: z.number().openapi({ description: 'Bytes.' }),
    run_policy: runPolicy,
    stopped_at: timestamp
      .nullable()
      .openapi({ description: 'Since when it is off because a person wanted it so.' }),
    origin: machineOrigin.openapi({
      description:
        'migrated: a verified copy of ours; copy: a copy of ours that was not verified, and is started by its migration alone; adopted: it was there.',
    }),
    instance_id: z.uuid().nullable().openapi({ description: 'The instance that it was.' }),
    entry_id: z.uuid().nullable().openapi({ description: 'The entry that made it, or has it now.' }),
    batch: z.string().nullable(),
    in_migration: z.boolean().openapi({ description: 'That entry is not over: operations are refused.' }),
    operation: z
      .object({ id: z.uuid(), kind: z.enum(operationKinds), force: z.boolean(), state: z.enum(activeStates) })
      .nullable()
      .openapi({ description: 'The one that is at it.' }),
    queued: z.int().openapi({ description: 'How many wait behind it.' }),
    seen_at: timestamp.openapi({ description: 'When something of it was last seen to be new.' }),
    created_at: timestamp,
    gone_at: timestamp.nullable(),
    version: z.int(),
  })
  .openapi('Machine')

type MachineView = z.infer<typeof machineSchema>

const operationOf = (line: MachineLine): MachineView['operation'] =>
  line.operationId === null || line.operationKind === null
    ? null
    : {
        id: line.operationId,
        kind: line.operationKind,
        force: line.operationForce ?? false,
        state: line.operationState as (typeof activeStates)[number],
      }

export const viewMachine = (line: MachineLine): MachineView =>
  toWire(machineSchema, line, {
    power: line.power as z.infer<typeof machinePower>,
    phase: phaseOfLine(line),
    hibernated: line.savedState !== null,
    origin: line.origin as z.infer<typeof machineOrigin>,
    entry_id: line.atEntry,
    operation: operationOf(line),
  })
