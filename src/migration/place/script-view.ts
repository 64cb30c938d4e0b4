import type { InstanceRow, SiteRow } from '../../../db/schema/inventory.ts'
import { diskFieldsOf, whyNeverCopied } from '../../domain/inventory/copy-way.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { BatchView } from '../entry/batch-view.ts'
import type { ScriptAsk } from './script-types.ts'

/**
 * What a script sees as `instance`: the facts after overrides as the API shows them, the disks with the fields that
 * filters have, and the overrides.
 */
export const askAbout = (
  facts: EffectiveFacts,
  instance: Pick<InstanceRow, 'id' | 'overrides'>,
  source: Pick<SiteRow, 'name' | 'kind'>,
): ScriptAsk => ({
  instance: JSON.stringify({
    ...facts,
    disks: facts.disks.map((disk) => ({ ...disk, ...diskFieldsOf(disk) })),
    id: instance.id,
    source: source.name,
    source_kind: source.kind,
    overrides: instance.overrides,
  }),
  disks: facts.disks.map((disk) => ({
    key: disk.key,
    label: disk.label,
    name: disk.name,
    neverCopied: whyNeverCopied(disk) ?? null,
  })),
  nics: facts.nics.map(({ mac, key, label }) => ({ mac, key, label })),
})

/** What a script sees as `batch`. */
export const batchText = ({ row, defaults, config, windows }: BatchView): string => {
  const moment = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  // Without the script itself: it is long and the same for every instance.
  const { placement_scriptlet: _script, ...settings } = config
  return JSON.stringify({
    name: row.name,
    include_expression: row.includeExpression,
    defaults,
    config: settings,
    constraints: row.constraints,
    windows: windows.map((window) => ({
      name: window.name,
      start: moment(window.startsAt),
      end: moment(window.endsAt),
      lockout: moment(window.lockoutAt),
      capacity: window.capacity,
    })),
  })
}
