import { limits } from '../../domain/inventory/bounded-text.ts'
import type { InventoryItem } from '../../platforms/ports/inventory.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'

/** More than any installation has (vCenter: 45,000 machines); anything beyond it would fill the database. */
export const mostThings = 500_000

/** The weight of the items decided at once: machines of the largest size must not fill memory. */
export const mostWeight = 8 * 1024 ** 2

/** The approximate bytes of an item in memory. Not recursive: a hostile answer may be nested deeply. */
export const weightOf = (item: InventoryItem): number => {
  let weight = 0
  const open: unknown[] = ['facts' in item ? item.facts : item.ref]
  for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
    weight += 8
    if (typeof value === 'string') weight += value.length
    else if (Array.isArray(value)) for (const one of value) open.push(one)
    else if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) {
        weight += key.length
        open.push(one)
      }
  }
  return weight
}

/** Without an id that can be stored an item has no row: it becomes a problem without an id, or is dropped. */
export const keepable = (item: InventoryItem): readonly InventoryItem[] => {
  const ref = 'facts' in item ? item.facts.ref : item.ref
  if (ref.length <= limits.text && ref !== '') return [item]
  if (item.type === 'gone') return []
  if (item.type === 'problem') return [{ ...item, ref: '' }]
  return [{ type: 'problem', of: item.type, ref: '', name: item.facts.name, error: noId(item.type, ref) }]
}

const noId = (type: string, ref: string): PlatformError =>
  new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message:
      ref === ''
        ? `The platform gives this ${type} no id.`
        : `The platform gives this ${type} an id of ${ref.length} characters; ${limits.text} can be kept.`,
    remedy: 'Look at it on the platform. Is the address that of the platform itself?',
  })

export const tooManyThings = (site: string): PlatformError =>
  new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `${site} tells of more than ${mostThings} things.`,
    remedy: 'Read less of it: give it scopes. Is the address that of the platform itself?',
    field: 'scopes',
    detail: { site },
  })
