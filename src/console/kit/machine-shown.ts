import { html } from 'hono/html'
import type { z } from 'zod'
import type { machineSchema } from '../../api/resources/operation/machine-view.ts'
import type { RunPolicy } from '../../domain/operation/kinds/applicability.ts'
import type { MachineOrigin } from '../../domain/operation/kinds/origin.ts'
import { outside } from './shown.ts'
import type { Html } from './view.ts'

export type MachineSeen = z.infer<typeof machineSchema>

const looks: Readonly<Record<MachineSeen['phase'], string>> = {
  pending: 'waiting',
  starting: 'running',
  running: 'fit',
  migrating: 'running',
  stopping: 'running',
  stopped: 'off',
  hibernated: 'ready',
  paused: 'waiting',
  degraded: 'blocked',
}

/** What a machine is doing, as a word with a mark. */
export const phaseBadge = (phase: MachineSeen['phase']): Html =>
  html`<span class="badge is-${looks[phase]}">${phase}</span>`

export const phaseLook = (phase: MachineSeen['phase']): string => looks[phase]

/** Who decides whether it runs, as a person is told. */
export const policyTexts: Readonly<Record<RunPolicy, string>> = {
  manual: 'manual: it is as people leave it',
  'always-on': 'always-on: it is started whenever it is off',
  'always-on-unless-stopped': 'always-on-unless-stopped: but not after a person has stopped it',
  'always-off': 'always-off: it is stopped whenever it runs',
}

export const machineNameLink = ({ id, name, ref }: Pick<MachineSeen, 'id' | 'name' | 'ref'>): Html =>
  html`<a href="/machines/${id}">${outside(name || ref)}</a>`

const originTexts: Readonly<Record<MachineOrigin, string>> = {
  migrated: 'a migration of ours, verified',
  copy: 'an unfinished copy of ours: its source is the machine that counts',
  adopted: 'it was there already',
}

/** Where it comes from. What an entry has is its copy, also before a sync has written that down. */
export const originText = ({
  origin,
  in_migration: migrating,
}: Pick<MachineSeen, 'origin' | 'in_migration'>): string =>
  originTexts[migrating && origin === 'adopted' ? 'copy' : origin]
