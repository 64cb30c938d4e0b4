import { many } from '../text/sentence.ts'

/** What is forgotten with a source or target, besides finished migrations. */
export interface Forgotten {
  /** Instances of a source, machines of a target. */
  readonly machines: number
  /** Instances with overrides. */
  readonly overrides: number
  /** Networks that a person has mapped. */
  readonly mappings: number
  readonly waivers: number
}

/** What a person must know before a source or target is removed. Empty: nothing is forgotten. */
export const whatIsForgotten = (name: string, forgotten: Forgotten): string => {
  const { machines, overrides, mappings, waivers } = forgotten
  const parts = [
    [machines, 'machine'],
    [overrides, 'override'],
    [mappings, 'network mapping'],
    [waivers, 'waiver'],
  ] as const
  const said = parts.filter(([count]) => count > 0).map(([count, thing]) => many(count, thing))
  if (said.length === 0) return ''
  const last = said.pop()
  const list = said.length === 0 ? last : `${said.join(', ')} and ${last}`
  return `What is known of ${name} goes with it: ${list}. Nothing is changed there. Certificates stay, and what was migrated stays off at its source.`
}
