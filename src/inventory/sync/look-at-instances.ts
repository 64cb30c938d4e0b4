import type { SiteRow } from '../../../db/schema/inventory.ts'
import { readSettings, type SiteRole } from '../../domain/inventory/site-settings.ts'
import type { JobContext } from '../../ledger/job.ts'
import type { Call } from '../../platforms/ports/call.ts'
import type { InventoryItem } from '../../platforms/ports/inventory.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'

/** Trouble of the source itself. Missing permission concerns single machines. */
const isEverybodys = ({ code, class: kind }: PlatformError): boolean =>
  code !== 'platform-permission' && (kind === 'config' || code === 'platform-session-lost')

/** Whether the site itself answers: if so, only the host of one machine is unreachable. */
const answers = async (platform: Platform, call: Call): Promise<boolean> => {
  try {
    await platform.probe({ ...call, name: `${call.name}/probe` })
    return true
  } catch {
    return false
  }
}

/** One instance as an item of a reading; an instance that cannot be read becomes its own problem. */
export const readInstance = async (platform: Platform, call: Call, ref: string): Promise<InventoryItem> => {
  try {
    const found = await portOf(platform, 'inventory').instance(call, ref)
    return found.found ? { type: 'instance', facts: found.value } : { type: 'gone', of: 'instance', ref }
  } catch (error) {
    // Only trouble of this instance: an unreachable site is not a problem of each of its instances.
    if (!(error instanceof PlatformError) || isEverybodys(error) || call.signal.aborted) throw error
    if (error.code === 'platform-unreachable' && !(await answers(platform, call))) throw error
    return { type: 'problem', of: 'instance', ref, name: '', error }
  }
}

export interface LookOptions {
  readonly ctx: JobContext
  readonly site: SiteRow
  readonly platform: Platform
}

const lookAtOnce = 4

/** Reads single instances, some at a time, in order. */
export async function* lookAtEach(
  { ctx, site, platform }: LookOptions,
  refs: readonly string[],
): AsyncGenerator<readonly InventoryItem[], void> {
  const { sync_timeout_seconds: seconds } = readSettings(site.role as SiteRole, site.settings)
  for (let at = 0; at < refs.length; at += lookAtOnce) {
    ctx.safePoint()
    const call = (ref: string): Call => ({
      signal: ctx.signal,
      timeoutMs: seconds * 1_000,
      name: `sync-${ctx.job.id}-${ref}`,
    })
    const some = refs.slice(at, at + lookAtOnce)
    yield await Promise.all(some.map((ref) => readInstance(platform, call(ref), ref)))
  }
}
